/**
 * Lowerings for an engine that computes in f16, as CUDA's does. This processor has few f16 kernels; the engine loads
 * the models all the same, with casts of its own. It refuses a node whose operands differ in dtype, as every engine
 * does.
 */
import { GraphBuilder, type OpAttributes, tensor } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { decodeModel } from "@mp/onnx";
import { lowerGraph, type Target } from "@mp/onnx-lowering";
import { pairsFor, probeKernels, runGraph } from "@mp/onnx-lowering/probe";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRuntime } from "../src/native/index.js";
import { engineToProbe } from "../src/probe/engine-to-probe.js";

const target: Target = {
  device: "cpu",
  emulated: ["bf16"],
  widened: new Set(),
  blockSize: undefined,
  castsThroughDoubles: false,
};

let runtime: Awaited<ReturnType<typeof openRuntime>>;
beforeAll(async () => {
  runtime = await openRuntime();
});
afterAll(() => runtime.dispose());

const plain: OpAttributes["MaxPool"] = {
  kernelShape: [2, 2],
  strides: [2, 2],
  pads: [0, 0, 1, 1],
  dilations: [1, 1],
  ceilMode: false,
};
const WINDOWS: readonly (readonly [string, OpAttributes["MaxPool"]])[] = [
  ["padded by less than its kernel", plain],
  ["padded by its kernel's size", { ...plain, dilations: [3, 3], pads: [2, 1, 2, 1], strides: [1, 1] }],
  ["with a window that the ceiling adds", { ...plain, pads: [0, 0, 0, 0], ceilMode: true }],
];

const shape = [1, 2, 5, 5];
// Whole numbers of few bits: f16 holds every sum exactly, and everything but the quotients.
const x = tensor(
  Uint16Array.from({ length: 50 }, (_, at) => ((at * 7) % 11 < 5 ? 0x3c00 : 0xc400)),
  shape,
  "f16",
);
const holding = (bits: number): typeof x => tensor(Uint16Array.from(x.data).fill(bits, 7, 30), shape, "f16");
const FEEDS = { x, lowest: holding(0xfbff), infinite: holding(0xfc00), nan: holding(0x7e00) };

/** One NaN for all; f16 to its last unit, ordered like integers on either side of 0. */
const bitsOf = (data: ArrayLike<number>): readonly (number | "NaN")[] =>
  Array.from(data, (bits) => ((bits & 0x7fff) > 0x7c00 ? "NaN" : bits));

describe("pools of f16, where the engine has it", () => {
  it.each(WINDOWS)("are the oracle's %s", async (_, window) => {
    const builder = new GraphBuilder();
    const outputs = Object.keys(FEEDS).flatMap((name) => {
      const image = builder.input(name, { dtype: "f16", shape }, "batch");
      return [
        [`max ${name}`, builder.emitOne("MaxPool", [image], window)],
        ...[true, false].map((countIncludePad) => [
          `mean ${name} ${countIncludePad}`,
          builder.emitOne("AveragePool", [image], { ...window, countIncludePad }),
        ]),
      ] as const;
    });
    const graph = builder.finish(Object.fromEntries(outputs));
    const got = await runGraph(engineToProbe(runtime), graph, target, FEEDS);
    const want = evaluate(graph, FEEDS);
    for (const [name, { data }] of Object.entries(want)) {
      const given = bitsOf(got[name]?.data as Uint16Array);
      bitsOf(data as Uint16Array).forEach((bits, at) => {
        if (bits === "NaN" || given[at] === "NaN" || name.startsWith("max"))
          expect(given[at], `${name}, element ${at}`).toBe(bits);
        else expect(Math.abs((given[at] as number) - bits), `${name}, element ${at}`).toBeLessThanOrEqual(1);
      });
    }
  });

  it("keep to f16 where nothing has to be divided again, and divide in f32", () => {
    const opsOf = (window: OpAttributes["MaxPool"]): readonly string[] => {
      const builder = new GraphBuilder();
      const image = builder.input("x", { dtype: "f16", shape }, "batch");
      const y = builder.emitOne("AveragePool", [image], { ...window, countIncludePad: false });
      const { model } = lowerGraph(builder.finish({ y }), target);
      return decodeModel(model).graph.nodes.map(({ opType }) => opType);
    };
    expect(opsOf(plain)).toEqual(["AveragePool"]);
    const [, [, padded]] = WINDOWS as unknown as [unknown, [string, OpAttributes["MaxPool"]]];
    expect(opsOf(padded).filter((op) => op === "Cast").length).toBe(2);
  });
});

it("the nodes of every operator on f16 have operands of one dtype", async () => {
  const pairs = pairsFor(target).filter(({ dtype }) => dtype === "f16");
  const missing = await probeKernels(engineToProbe(runtime), target, pairs);
  const reasons = [...missing].map(([key, reason]) => `${key}: ${reason}`);
  expect(reasons.filter((reason) => /bound to different types|Type Error/.test(reason))).toEqual([]);
});
