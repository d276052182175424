/**
 * Runs the lowerings for CUDA on the processor's kernels: the same nodes in the same order, so that the numbers are the
 * oracle's here as there.
 */
import { type HostTensor, type Shape, tensor } from "@mp/core";
import { GraphBuilder, type Op, type OpAttributes } from "@mp/core/graph";
import { evaluate } from "@mp/core/reference";
import { decodeModel } from "@mp/onnx";
import { lowerGraph, type Target } from "@mp/ort-lowering";
import { runGraph } from "@mp/ort-lowering/probe";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRuntime } from "../src/native/index.js";
import { probedEngine } from "../src/probe/probed-engine.js";

const target: Target = {
  device: "cuda",
  emulated: ["f16", "bf16"],
  widened: new Set(),
  blockSize: undefined,
  castsThroughDoubles: false,
};

let runtime: Awaited<ReturnType<typeof openRuntime>>;
beforeAll(async () => {
  runtime = await openRuntime();
});
afterAll(() => runtime.dispose());

const { NaN: nan, NEGATIVE_INFINITY: low } = Number;

/** Whole numbers: every sum of them is exact. */
function numbers(shape: Shape, seed: number): HostTensor {
  const size = shape.reduce((a, b) => a * b, 1);
  return tensor(
    Float32Array.from({ length: size }, (_, at) => ((at * 7 + seed) % 13) - 6),
    shape,
  );
}

function graphOf<K extends Op>(op: K, inputs: readonly HostTensor[], attributes: OpAttributes[K]) {
  const builder = new GraphBuilder();
  const values = inputs.map((input, index) => builder.input(`x${index}`, input, "batch"));
  const graph = builder.finish({ y: builder.emitOne(op, values, attributes as never) });
  return { graph, feeds: Object.fromEntries(inputs.map((input, index) => [`x${index}`, input])) };
}

/** The ops that were written, after the values agreed with the oracle's. */
async function written<K extends Op>(op: K, inputs: readonly HostTensor[], attributes: OpAttributes[K]) {
  const { graph, feeds } = graphOf(op, inputs, attributes);
  expect(await runGraph(probedEngine(runtime), graph, target, feeds)).toEqual(evaluate(graph, feeds));
  return decodeModel(lowerGraph(graph, target).model).graph.nodes.map(({ opType }) => opType);
}

describe("transposed convolutions", () => {
  const [x, w] = [numbers([2, 4, 4, 3], 1), numbers([4, 2, 3, 2], 2)];
  const plain = { strides: [2, 1], dilations: [1, 1], group: 1, outputPadding: [0, 0] };

  it("stay one kernel where they are padded alike at both ends", async () => {
    const ops = await written("ConvTranspose", [x, w], { ...plain, pads: [1, 0, 1, 0] });
    expect(ops).toContain("ConvTranspose");
    expect(ops).not.toContain("Slice");
  });

  it.each([
    ["more at the end", { ...plain, pads: [0, 0, 1, 1] }],
    [
      "more at the beginning, of a group, stretched",
      { ...plain, group: 2, dilations: [2, 1], pads: [2, 1, 1, 0] },
    ],
    [
      "at different ends, and longer than they need be",
      { ...plain, outputPadding: [1, 0], pads: [2, 0, 0, 1] },
    ],
  ])("are cut where they are padded %s", async (_, attributes) => {
    const ops = await written("ConvTranspose", [x, w], attributes);
    expect(ops).toContain("Slice");
    const { graph } = graphOf("ConvTranspose", [x, w], attributes);
    const [kernel] = decodeModel(lowerGraph(graph, target).model).graph.nodes.filter(
      ({ opType }) => opType === "ConvTranspose",
    );
    const pads = (kernel?.attributes["pads"]?.value ?? []) as readonly bigint[];
    expect(pads.slice(0, 2)).toEqual(pads.slice(2));
  });
});

describe("maxima over windows", () => {
  const window = {
    kernelShape: [3, 2],
    strides: [2, 1],
    pads: [1, 0, 1, 1],
    dilations: [1, 1],
    ceilMode: false,
  };
  const data = numbers([1, 2, 6, 5], 3);
  const special = tensor(Float32Array.from(data.data as Float32Array), [1, 2, 6, 5]);
  special.data.set([nan, low, low, low, 3], 4);

  it("are without the kernel that ends at opset 21", async () => {
    for (const x of [data, special]) expect(await written("MaxPool", [x], window)).not.toContain("MaxPool");
  });

  it("give their gradient to the first of equals", async () => {
    const y = evaluate(graphOf("MaxPool", [data], window).graph, { x0: data })["y"] as HostTensor;
    const ops = await written("MaxPoolGradient", [numbers(y.shape, 4), data, y], window);
    expect(ops).not.toContain("MaxPool");
  });
});
