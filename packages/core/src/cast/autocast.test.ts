import { type Graph, printGraph, remat, scope, type Tensor, tensor, valueAndGrad } from "@mp/graph";
import {
  add,
  cast,
  literal,
  matMul,
  mul,
  reduceMean,
  relu,
  softmaxCrossEntropyLoss,
  tanh,
  where,
} from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { withoutLines, withSegment } from "../../../graph/src/trace/trace.js";
import { manifestOf } from "../../../graph/test/test-manifest.js";
import { graphOf, labels } from "../../../graph/test/traced-nets.js";
import { autocast } from "./autocast.js";
import type { CastReport } from "./explain.js";
import {
  float16Policy,
  float32Policy,
  manualPolicy,
  mixedBfloat16Policy,
  mixedFloat16Policy,
} from "./policy.js";

const dtypes = (graph: Graph): string[] =>
  graph.nodes
    .filter(({ op }) => op !== "Cast" && op !== "Constant")
    .map(({ op, outputs }) => `${op} ${outputs[0]?.dtype}`);

describe("autocast", () => {
  it("rewrites a function where it is called, its results in the output dtype", () => {
    const graph = graphOf({ w: [4, 4], b: [4] }, { x: [4, 4] }, ({ w, b, x }) => {
      const layer = autocast(
        (p: { w: Tensor; b: Tensor }, input: Tensor) => add(matMul(input, p.w), p.b),
        mixedFloat16Policy,
      );
      return scope("net", () => mul(layer({ w, b }, x), 2));
    });
    expect(printGraph(graph)).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[4, 4]
      %1 = parameter "b" : f32[4]
      %2 = batch "x" : f32[4, 4]
      %3:f16[4, 4] = Cast(%2) {to=f16}  # net
      %4:f16[4, 4] = Cast(%0) {to=f16}  # net
      %5:f16[4, 4] = MatMul(%3, %4)  # net
      %6:f16[4] = Cast(%1) {to=f16}  # net
      %7:f16[4, 4] = Add(%5, %6)  # net
      %8:f32[4, 4] = Cast(%7) {to=f32}  # net
      %9:f32[] = Constant() {value=f32[](2) literal=2}  # net
      %10:f32[4, 4] = Mul(%8, %9)  # net
      return "result" %10
      "
    `);
  });

  it("sees parameters through any number of traces around it", () => {
    const graph = graphOf({ w: [4, 4], b: [4] }, { x: [4, 4] }, ({ w, b, x }) =>
      autocast(
        () =>
          valueAndGrad((weights: Tensor) =>
            reduceMean(autocast(() => add(matMul(x, weights), b), mixedFloat16Policy)()),
          )(w).value,
        mixedFloat16Policy,
      )(),
    );
    expect(dtypes(graph).slice(0, 2)).toEqual(["MatMul f16", "Add f16"]);
  });

  it("takes numbers and constants from outside as if they were written inside", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => {
      const two = literal(2);
      return autocast((y: Tensor) => mul(matMul(y, w), two), mixedFloat16Policy)(x);
    });
    expect(dtypes(graph)).toEqual(["MatMul f16", "Mul f16"]);
    expect(() =>
      graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => {
        const big = literal(1e9);
        return autocast((y: Tensor) => matMul(mul(matMul(y, w), big), w), mixedFloat16Policy)(x);
      }),
    ).toThrow(expect.objectContaining({ code: "MP_OUT_OF_RANGE" }));
  });

  it("passes what is no tensor, and returns trees", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => {
      const fn = autocast(
        (y: Tensor, options: { readonly training: boolean; readonly map: ReadonlyMap<string, number> }) => ({
          y: options.training ? matMul(y, w) : y,
          metrics: { count: options.map.size === 1 ? y : matMul(y, y) },
        }),
        mixedFloat16Policy,
      );
      return fn(x, { training: true, map: new Map([["a", 1]]) });
    });
    expect(graph.outputs.map(({ name, value }) => `${name} ${value.dtype}`)).toEqual([
      "metrics/count f32",
      "y f32",
    ]);
  });

  it("hands the report of each trace to who asks", () => {
    const reports: CastReport[] = [];
    graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) =>
      autocast((y: Tensor) => matMul(y, w), mixedFloat16Policy, { report: (report) => reports.push(report) })(
        x,
      ),
    );
    expect(reports.map(({ nodes }) => nodes.map(({ rule }) => rule))).toEqual([["allow list"]]);
  });

  it("obeys the manifest", () => {
    const manifest = manifestOf({ opDTypes: { MatMul: ["f32"] } });
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) =>
      autocast((y: Tensor) => matMul(y, w), mixedFloat16Policy, { manifest })(x),
    );
    expect(dtypes(graph)).toEqual(["MatMul f32"]);
  });

  it("is refused outside a trace", () => {
    expect(() => autocast((x: Tensor) => x, mixedFloat16Policy)({} as Tensor)).toThrow(
      expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }),
    );
  });
});

describe("a region inside a region", () => {
  const nested = (inner: typeof float32Policy): Graph =>
    graphOf({ w: [4, 4], v: [4, 4] }, { x: [4, 4] }, ({ w, v, x }) =>
      autocast((input: Tensor) => {
        const body = relu(matMul(input, w));
        const head = autocast((y: Tensor) => matMul(y, v), inner)(body);
        return matMul(head, w);
      }, mixedFloat16Policy)(x),
    );

  it("is decided by its own policy", () => {
    expect(dtypes(nested(float32Policy))).toEqual(["MatMul f16", "Relu f16", "MatMul f32", "MatMul f16"]);
    expect(dtypes(nested(mixedBfloat16Policy))).toEqual([
      "MatMul f16",
      "Relu f16",
      "MatMul bf16",
      "MatMul f16",
    ]);
    expect(dtypes(nested(manualPolicy))).toEqual(["MatMul f16", "Relu f16", "MatMul f32", "MatMul f16"]);
  });

  it("is not held against the user by the policy around it", () => {
    const reports: CastReport[] = [];
    graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) =>
      autocast(
        (input: Tensor) => matMul(autocast((y: Tensor) => matMul(y, w), mixedBfloat16Policy)(input), w),
        mixedFloat16Policy,
        { report: (report) => reports.push(report) },
      )(x),
    );
    expect(reports[0]?.lints).toEqual([]);
    expect(reports[0]?.nodes.find(({ op }) => op === "MatMul")?.rule).toBe("inner policy");
  });

  it("costs nothing where its result is read in the half that it was made in", () => {
    expect(printGraph(nested(mixedFloat16Policy))).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[4, 4]
      %1 = parameter "v" : f32[4, 4]
      %2 = batch "x" : f32[4, 4]
      %3:f16[4, 4] = Cast(%2) {to=f16}
      %4:f16[4, 4] = Cast(%0) {to=f16}
      %5:f16[4, 4] = MatMul(%3, %4)
      %6:f16[4, 4] = Relu(%5)
      %7:f16[4, 4] = Cast(%1) {to=f16}
      %8:f16[4, 4] = MatMul(%6, %7)
      %9:f32[4, 4] = Cast(%8) {to=f32}
      %10:f16[4, 4] = MatMul(%8, %4)
      %11:f32[4, 4] = Cast(%10) {to=f32}
      return "result" %11
      "
    `);
  });
});

describe("cast to a tensor's own dtype", () => {
  const pinned = (policy: typeof float32Policy): Graph =>
    graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) =>
      autocast((y: Tensor) => tanh(cast(matMul(y, w), "f32")), policy)(x),
    );

  it("begins that dtype under a policy, and leaves no node where it does nothing", () => {
    expect(dtypes(pinned(mixedFloat16Policy))).toEqual(["MatMul f16", "Tanh f32"]);
    expect(dtypes(pinned(float16Policy))).toEqual(["MatMul f16", "Tanh f16"]);
    expect(pinned(float32Policy).nodes.map(({ op }) => op)).toEqual(["MatMul", "Tanh"]);
    const idle = graphOf({}, { x: [4] }, ({ x }) =>
      autocast((y: Tensor) => tanh(cast(y, "f32")), mixedFloat16Policy)(x),
    );
    expect(idle.nodes.map(({ op }) => op)).toEqual(["Tanh"]);
  });

  it("is nothing in the SDK's own code, which casts to be sure", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) =>
      autocast((y: Tensor) => tanh(withoutLines(() => cast(matMul(y, w), "f32"))), mixedFloat16Policy)(x),
    );
    expect(dtypes(graph)).toEqual(["MatMul f16", "Tanh f16"]);
  });

  it("is nothing elsewhere, and where() makes none of its own", () => {
    const graph = graphOf({}, { x: [4], keep: { dtype: "bool", shape: [4] } }, ({ x, keep }) => [
      cast(x, "f32"),
      autocast((y: Tensor) => where(keep, y, x), mixedFloat16Policy)(x),
    ]);
    expect(graph.nodes.map(({ op }) => op)).toEqual(["Where"]);
  });
});

describe("parameters that are kept in a half", () => {
  const f16 = { dtype: "f16", shape: [4, 4] } as const;
  const bias = { dtype: "f16", shape: [4] } as const;
  const net = (policy: typeof float32Policy): Graph =>
    graphOf({ w: f16, b: bias }, { x: [4, 4] }, (t) =>
      autocast((p: { w: Tensor; b: Tensor }, x: Tensor) => add(matMul(x, p.w), p.b), policy)(
        { w: t.w, b: t.b },
        t.x,
      ),
    );

  it("are read as they are by what computes in that half", () => {
    expect(printGraph(net(float16Policy))).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f16[4, 4]
      %1 = parameter "b" : f16[4]
      %2 = batch "x" : f32[4, 4]
      %3:f16[4, 4] = Cast(%2) {to=f16}
      %4:f16[4, 4] = MatMul(%3, %0)
      %5:f16[4, 4] = Add(%4, %1)
      return "result" %5
      "
    `);
  });

  it("are widened for what does not", () => {
    expect(dtypes(net(float32Policy))).toEqual(["MatMul f32", "Add f32"]);
    expect(dtypes(net(mixedBfloat16Policy))).toEqual(["MatMul bf16", "Add bf16"]);
  });

  it("are left to the user in manual mode", () => {
    expect(() => net(manualPolicy)).toThrow(expect.objectContaining({ code: "MP_DTYPE_MISMATCH" }));
  });
});

describe("data in a half", () => {
  it("is what the user made it", () => {
    const graph = graphOf({}, { x: { dtype: "f16", shape: [4] } }, ({ x }) =>
      autocast((y: Tensor) => relu(y), mixedBfloat16Policy)(x),
    );
    expect(dtypes(graph)).toEqual(["Relu f16"]);
  });
});

describe("with gradients", () => {
  const shapes = { w0: [4, 8], b0: [8], w1: [8, 3] } as const;
  type Parameters = { readonly [K in keyof typeof shapes]: Tensor };
  const loss = ({ w0, b0, w1 }: Parameters, x: Tensor, y: Tensor): Tensor =>
    softmaxCrossEntropyLoss(matMul(tanh(add(matMul(x, w0), b0)), w1), y);
  const step = (policy: typeof float32Policy, fn = loss): Graph =>
    graphOf(shapes, { x: [2, 4], y: labels(2) }, ({ x, y, ...parameters }) =>
      valueAndGrad(autocast(fn, policy))(parameters, x, y),
    );

  it("differentiates what was cast: gradients of f32 parameters are f32, products backward are low", () => {
    const graph = step(mixedFloat16Policy);
    expect(graph.outputs.map(({ name, value }) => `${name} ${value.dtype}`)).toEqual([
      "gradients/b0 f32",
      "gradients/w0 f32",
      "gradients/w1 f32",
      "value f32",
    ]);
    const products = graph.nodes.filter(({ op }) => op === "MatMul" || op === "Gemm");
    expect(products.length).toBeGreaterThanOrEqual(5);
    expect(new Set(products.map(({ outputs }) => outputs[0]?.dtype))).toEqual(new Set(["f16"]));
  });

  it("gives the gradients of f32, as near as the half allows", () => {
    const values = (count: number, seed: number): Float32Array =>
      Float32Array.from({ length: count }, (_, index) => Math.sin(seed + index * 1.7) / 2);
    const inputs = {
      w0: tensor(values(32, 1), [4, 8]),
      b0: tensor(values(8, 2), [8]),
      w1: tensor(values(24, 3), [8, 3]),
      x: tensor(values(8, 4), [2, 4]),
      y: tensor(Int32Array.of(2, 0), [2]),
    };
    const exact = evaluate(step(float32Policy), inputs);
    for (const [policy, tolerance] of [
      [mixedFloat16Policy, 2 ** -10],
      [mixedBfloat16Policy, 2 ** -7],
    ] as const) {
      const mixed = evaluate(step(policy), inputs);
      let differences = 0;
      for (const [name, want] of Object.entries(exact)) {
        const got = mixed[name]?.data as Float32Array;
        (want.data as Float32Array).forEach((value, index) => {
          const difference = Math.abs((got[index] as number) - value);
          differences += difference;
          expect(difference, `${policy} ${name}[${index}]`).toBeLessThan(tolerance);
        });
      }
      expect(differences).toBeGreaterThan(0);
    }
  });

  it("recomputes a segment's casts with the segment", () => {
    const segmented = (p: Parameters, x: Tensor, y: Tensor): Tensor => remat(loss)(p, x, y);
    const [plain, recomputed] = [step(mixedFloat16Policy), step(mixedFloat16Policy, segmented)];
    const forwardCasts = (graph: Graph): number =>
      graph.nodes.filter(({ op, origin }) => op === "Cast" && origin.phase === "forward").length;
    expect(forwardCasts(recomputed)).toBe(forwardCasts(plain));
    const inputs = {
      w0: tensor(new Float32Array(32).fill(0.125), [4, 8]),
      b0: tensor(new Float32Array(8), [8]),
      w1: tensor(new Float32Array(24).fill(0.25), [8, 3]),
      x: tensor(new Float32Array(8).fill(0.5), [2, 4]),
      y: tensor(Int32Array.of(2, 0), [2]),
    };
    expect(evaluate(recomputed, inputs)).toEqual(evaluate(plain, inputs));
  });

  it("keeps segments apart inside a region", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) =>
      autocast((y: Tensor) => withSegment(1, () => matMul(y, w)), mixedFloat16Policy)(x),
    );
    const segments = graph.nodes.map(({ op, origin }) => `${op} ${origin.segment}`);
    expect(segments).toEqual(["Cast 1", "Cast 1", "MatMul 1", "Cast undefined"]);
  });
});
