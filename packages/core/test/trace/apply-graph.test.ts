import { applyGraph, GraphBuilder, scope, Tensor, tensor, traceInto } from "@mp/graph";
import { add, matMul, reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { withLabel } from "../../../graph/src/trace/trace.js";
import { autocast } from "../../src/cast/autocast.js";
import { sgd } from "../../src/optim/sgd.js";
import { mixedFloat16 } from "../../src/precision/presets.js";
import { trainer } from "../../src/train/trainer.js";

const f32 = (...shape: number[]) => ({ dtype: "f32" as const, shape });

/** y = x · w + 1, as it might come out of a file. */
function block() {
  const builder = new GraphBuilder();
  const x = builder.input("x", f32(2, 3), "batch");
  const w = builder.input("w", f32(3, 4), "parameter");
  builder.origin = { scope: "block", phase: "forward", line: "elsewhere.py:3" };
  const product = builder.emitOne("MatMul", [x, w], {});
  return builder.finish({ y: builder.emitOne("Add", [product, builder.literal(1, "f32")], {}) });
}

const inputs = [
  { name: "x", role: "batch", type: f32(2, 3) },
  { name: "w", role: "parameter", type: f32(3, 4) },
] as const;

function traced(body: (x: Tensor, w: Tensor) => Tensor) {
  return traceInto(inputs, ([x, w]) => body(x as Tensor, w as Tensor)).graph;
}

describe("applyGraph", () => {
  it("keeps what readers see of the scopes on both sides", () => {
    const inner = traced((x, w) => withLabel("0", "0 dense", () => scope("dense", () => matMul(x, w))));
    const named = (graph: typeof inner) => graph.nodes.map(({ origin }) => [origin.scope, origin.label]);
    expect(named(inner)).toEqual([["0/dense", "0 dense/dense"]]);
    const place = (x: Tensor, w: Tensor) => Object.values(applyGraph(inner, { x, w }))[0] as Tensor;
    expect(named(traced((x, w) => scope("head", () => place(x, w))))).toEqual([
      ["head/0/dense", "head/0 dense/dense"],
    ]);
    expect(named(traced((x, w) => withLabel("1", "1 block", () => place(x, w))))).toEqual([
      ["1/0/dense", "1 block/0 dense/dense"],
    ]);
  });

  it("puts nodes into the trace under way, under its scope and the caller's line", () => {
    const graph = traced((x, w) => scope("head", () => applyGraph<"y">(block(), { w, x }).y));
    expect(graph.nodes.map(({ op }) => op)).toEqual(["MatMul", "Constant", "Add"]);
    for (const { origin } of graph.nodes) {
      expect(origin.scope).toBe("head/block");
      expect(origin.line).toMatch(/apply-graph\.test\.ts/);
    }
  });

  it("is under the casting policy around the call, as operators are", () => {
    const { policy } = mixedFloat16();
    const written = traced(autocast((x: Tensor, w: Tensor) => add(matMul(x, w), 1), policy));
    const applied = traced(autocast((x: Tensor, w: Tensor) => applyGraph<"y">(block(), { x, w }).y, policy));
    const dtypes = (graph: typeof written) =>
      graph.nodes.map(({ op, outputs }) => `${op} ${outputs[0]?.dtype}`);
    expect(dtypes(applied)).toEqual(dtypes(written));
    expect(dtypes(applied)).toContain("MatMul f16");
  });

  it("trains as the same operators do, in mixed precision", async () => {
    const x = tensor(Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), [2, 3]);
    const w = tensor(
      Float32Array.from({ length: 12 }, (_, i) => Math.sin(i)),
      [3, 4],
    );
    const run = async (model: (x: Tensor, w: Tensor) => Tensor) => {
      const training = await trainer({
        backend: await reference(),
        params: { w },
        loss: (params, batch: { x: Tensor }) => reduceSum(model(batch.x, params.w)),
        optimizer: sgd({ learningRate: 0.1 }),
        precision: mixedFloat16(),
        onWarning: () => undefined,
      });
      const steps = [await training.step({ x }), await training.step({ x })];
      return { steps, parameters: await training.parameters() };
    };
    expect(await run((a, b) => applyGraph<"y">(block(), { x: a, w: b }).y)).toEqual(
      await run((a, b) => add(matMul(a, b), 1)),
    );
  });

  it.each<readonly [string, (x: Tensor, w: Tensor) => unknown, string, string]>([
    [
      "another shape",
      (x) => applyGraph(block(), { x, w: x }),
      "MP_SHAPE_MISMATCH",
      'inline: input "w" must be f32[3, 4], got f32[2, 3]; reshape or cast the value first',
    ],
    [
      "a missing input",
      (x) => applyGraph(block(), { x }),
      "MP_INVALID_ARGUMENT",
      'applyGraph: input "w" is missing; the graph takes x, w',
    ],
    [
      "an input too many",
      (x, w) => applyGraph(block(), { x, w, v: w }),
      "MP_INVALID_ARGUMENT",
      'applyGraph: there is no input "v"; the graph takes x, w',
    ],
    [
      "host data",
      (x) => applyGraph(block(), { x, w: tensor(new Float32Array(12), [3, 4]) as never }),
      "MP_INVALID_ARGUMENT",
      'applyGraph: input "w": takes traced tensors, got host data',
    ],
  ])("refuses %s", (_, call, code, message) => {
    const run = () =>
      traceInto(inputs, ([x, w]) => {
        call(x as Tensor, w as Tensor);
        return {};
      });
    expect(run).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
  });

  it("works inside a traced function only", () => {
    expect(() => applyGraph(block(), {})).toThrow(
      expect.objectContaining({ code: "MP_INVALID_ARGUMENT", message: expect.stringContaining("traced") }),
    );
  });
});

it("a tensor does not hand out the builder of its trace, whose nodes no policy around the call would see", () => {
  traceInto(inputs, ([, w]) => {
    expect(Object.getOwnPropertyNames(Tensor).filter((name) => /builder/i.test(name))).toEqual([]);
    expect(Object.keys(w as Tensor)).toEqual(["dtype", "shape"]);
    return {};
  });
});
