import { type Graph, grad, printGraph, scope, type Tensor, tensor } from "@mp/graph";
import {
  add,
  cast,
  concat,
  constant,
  div,
  exp,
  expand,
  gelu,
  literal,
  matMul,
  mul,
  pad,
  reduceSum,
  relu,
  reshape,
  sigmoid,
  softmax,
  softmaxCrossEntropyLoss,
  sqrt,
  square,
  sub,
  transpose,
  where,
} from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { emit } from "../../../graph/src/trace/emit.js";
import { withSegment } from "../../../graph/src/trace/trace.js";
import { manifestOf } from "../../../graph/test/test-manifest.js";
import { attention, graphOf, handLoss, labels, lstm, mlp } from "../../../graph/test/traced-nets.js";
import { autocastGraph } from "./autocast-graph.js";
import { explainCasts } from "./explain.js";
import {
  bfloat16Policy,
  float16Policy,
  manualPolicy,
  mixedBfloat16Policy,
  mixedFloat16Policy,
} from "./policy.js";

const ones = tensor(new Float32Array(8).fill(1), [8, 1]);

/** Prints the results of each node on a line, without inputs and sources. */
function dtypes(graph: Graph): string[] {
  return graph.nodes
    .filter(({ op }) => op !== "Cast" && op !== "Constant")
    .map(({ op, outputs }) => `${op} ${outputs[0]?.dtype}`);
}

const half = (graph: Graph): string => printGraph(autocastGraph(graph, mixedFloat16Policy));

describe("mixed f16", () => {
  it("lowers an MLP between its products and leaves the loss in f32", () => {
    expect(half(mlp())).toMatchInlineSnapshot(`
      "%0 = parameter "w0" : f32[4, 8]
      %1 = parameter "b0" : f32[8]
      %2 = parameter "w1" : f32[8, 3]
      %3 = parameter "b1" : f32[3]
      %4 = batch "x" : f32[2, 4]
      %5 = batch "y" : i32[2]
      %6:f16[2, 4] = Cast(%4) {to=f16}  # hidden
      %7:f16[4, 8] = Cast(%0) {to=f16}  # hidden
      %8:f16[2, 8] = MatMul(%6, %7)  # hidden
      %9:f16[8] = Cast(%1) {to=f16}  # hidden
      %10:f16[2, 8] = Add(%8, %9)  # hidden
      %11:f16[2, 8] = Gelu(%10) {approximate=none}  # hidden
      %12:f16[8, 3] = Cast(%2) {to=f16}  # out
      %13:f16[2, 3] = MatMul(%11, %12)  # out
      %14:f16[3] = Cast(%3) {to=f16}  # out
      %15:f16[2, 3] = Add(%13, %14)  # out
      %16:f32[2, 3] = Cast(%15) {to=f32}
      %17:f32[], %18:f32[2, 3] = SoftmaxCrossEntropyLoss(%16, %5) {reduction=mean}
      return "result" %17
      "
    `);
  });

  it("keeps an LSTM's f32 cell in f32, and cuts and joins in f16", () => {
    expect(half(lstm())).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[6, 8]
      %1 = parameter "b" : f32[8]
      %2 = batch "x" : f32[2, 2, 4]
      %3 = batch "h" : f32[2, 2]
      %4 = batch "c" : f32[2, 2]
      %5:f16[2, 2, 4] = Cast(%2) {to=f16}
      %6:f16[1, 2, 4], %7:f16[1, 2, 4] = Split(%5) {axis=0 split=[1,1]}
      %8:f16[2, 4] = Reshape(%6) {shape=[2,4]}
      %9:f16[2, 2] = Cast(%3) {to=f16}
      %10:f16[2, 6] = Concat(%8, %9) {axis=1}
      %11:f16[6, 8] = Cast(%0) {to=f16}
      %12:f16[2, 8] = MatMul(%10, %11)
      %13:f16[8] = Cast(%1) {to=f16}
      %14:f16[2, 8] = Add(%12, %13)
      %15:f16[2, 2], %16:f16[2, 2], %17:f16[2, 2], %18:f16[2, 2] = Split(%14) {axis=1 split=[2,2,2,2]}
      %19:f16[2, 2] = Sigmoid(%16)
      %20:f32[2, 2] = Cast(%19) {to=f32}
      %21:f32[2, 2] = Mul(%20, %4)
      %22:f16[2, 2] = Sigmoid(%15)
      %23:f16[2, 2] = Tanh(%17)
      %24:f16[2, 2] = Mul(%22, %23)
      %25:f32[2, 2] = Cast(%24) {to=f32}
      %26:f32[2, 2] = Add(%21, %25)
      %27:f16[2, 2] = Sigmoid(%18)
      %28:f32[2, 2] = Tanh(%26)
      %29:f32[2, 2] = Cast(%27) {to=f32}
      %30:f32[2, 2] = Mul(%29, %28)
      %31:f16[2, 4] = Reshape(%7) {shape=[2,4]}
      %32:f16[2, 2] = Cast(%30) {to=f16}
      %33:f16[2, 6] = Concat(%31, %32) {axis=1}
      %34:f16[2, 8] = MatMul(%33, %11)
      %35:f16[2, 8] = Add(%34, %13)
      %36:f16[2, 2], %37:f16[2, 2], %38:f16[2, 2], %39:f16[2, 2] = Split(%35) {axis=1 split=[2,2,2,2]}
      %40:f16[2, 2] = Sigmoid(%37)
      %41:f32[2, 2] = Cast(%40) {to=f32}
      %42:f32[2, 2] = Mul(%41, %26)
      %43:f16[2, 2] = Sigmoid(%36)
      %44:f16[2, 2] = Tanh(%38)
      %45:f16[2, 2] = Mul(%43, %44)
      %46:f32[2, 2] = Cast(%45) {to=f32}
      %47:f32[2, 2] = Add(%42, %46)
      %48:f16[2, 2] = Sigmoid(%39)
      %49:f32[2, 2] = Tanh(%47)
      %50:f32[2, 2] = Cast(%48) {to=f32}
      %51:f32[2, 2] = Mul(%50, %49)
      return "c" %47
      return "h" %51
      "
    `);
  });

  it("keeps an attention block's residual stream in f32", () => {
    expect(half(attention())).toMatchInlineSnapshot(`
      "%0 = parameter "table" : f32[7, 4]
      %1 = parameter "scale" : f32[4]
      %2 = parameter "bias" : f32[4]
      %3 = parameter "q" : f32[4, 4]
      %4 = parameter "k" : f32[4, 4]
      %5 = parameter "v" : f32[4, 4]
      %6 = parameter "o" : f32[4, 4]
      %7 = batch "ids" : i32[3]
      %8:f32[3, 4] = Gather(%0, %7) {axis=0}
      %9:f32[3, 4], %10:f32[3, 1], %11:f32[3, 1] = LayerNormalization(%8, %1, %2) {axis=1 epsilon=0.00001}
      %12:f16[3, 4] = Cast(%9) {to=f16}
      %13:f16[4, 4] = Cast(%3) {to=f16}
      %14:f16[3, 4] = MatMul(%12, %13)
      %15:f16[4, 4] = Cast(%4) {to=f16}
      %16:f16[3, 4] = MatMul(%12, %15)
      %17:f16[4, 3] = Transpose(%16) {perm=[1,0]}
      %18:f16[3, 3] = MatMul(%14, %17)
      %19:f16[] = Constant() {value=f16[](14336) literal=0.5}
      %20:f16[3, 3] = Mul(%18, %19)
      %21:f32[3, 3] = Cast(%20) {to=f32}
      %22:f32[3, 3] = Softmax(%21) {axis=1}
      %23:f16[4, 4] = Cast(%5) {to=f16}
      %24:f16[3, 4] = MatMul(%12, %23)
      %25:f16[3, 3] = Cast(%22) {to=f16}
      %26:f16[3, 4] = MatMul(%25, %24)
      %27:f16[4, 4] = Cast(%6) {to=f16}
      %28:f16[3, 4] = MatMul(%26, %27)
      %29:f32[3, 4] = Cast(%28) {to=f32}
      %30:f32[3, 4] = Add(%8, %29)
      return "result" %30
      "
    `);
  });

  it("lets exp contaminate what it reaches", () => {
    expect(half(handLoss())).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[4, 3]
      %1 = batch "x" : f32[2, 4]
      %2 = batch "target" : f32[2, 3]
      %3:f16[2, 4] = Cast(%1) {to=f16}
      %4:f16[2, 4] = Relu(%3)
      %5:f16[4, 3] = Cast(%0) {to=f16}
      %6:f16[2, 3] = MatMul(%4, %5)
      %7:f16[2, 1] = ReduceMax(%6) {axes=[1] keepdims=true}
      %8:f16[2, 3] = Sub(%6, %7)
      %9:f32[2, 3] = Cast(%8) {to=f32}
      %10:f32[2, 3] = Exp(%9)
      %11:f32[2, 1] = ReduceSum(%10) {axes=[1] keepdims=true}
      %12:f32[2, 3] = Div(%10, %11)
      %13:f32[2, 3] = Gelu(%12) {approximate=none}
      %14:f32[2, 3] = Mul(%13, %2)
      %15:f32[] = ReduceSum(%14) {axes=[0,1] keepdims=false}
      return "error" %15
      return "p" %12
      "
    `);
  });
});

describe("mixed bf16", () => {
  it("has f32's range: exponentials and softmax between products are low, sums are not", () => {
    expect(printGraph(autocastGraph(attention(), mixedBfloat16Policy))).toMatchInlineSnapshot(`
      "%0 = parameter "table" : f32[7, 4]
      %1 = parameter "scale" : f32[4]
      %2 = parameter "bias" : f32[4]
      %3 = parameter "q" : f32[4, 4]
      %4 = parameter "k" : f32[4, 4]
      %5 = parameter "v" : f32[4, 4]
      %6 = parameter "o" : f32[4, 4]
      %7 = batch "ids" : i32[3]
      %8:f32[3, 4] = Gather(%0, %7) {axis=0}
      %9:f32[3, 4], %10:f32[3, 1], %11:f32[3, 1] = LayerNormalization(%8, %1, %2) {axis=1 epsilon=0.00001}
      %12:bf16[3, 4] = Cast(%9) {to=bf16}
      %13:bf16[4, 4] = Cast(%3) {to=bf16}
      %14:bf16[3, 4] = MatMul(%12, %13)
      %15:bf16[4, 4] = Cast(%4) {to=bf16}
      %16:bf16[3, 4] = MatMul(%12, %15)
      %17:bf16[4, 3] = Transpose(%16) {perm=[1,0]}
      %18:bf16[3, 3] = MatMul(%14, %17)
      %19:bf16[] = Constant() {value=bf16[](16128) literal=0.5}
      %20:bf16[3, 3] = Mul(%18, %19)
      %21:bf16[3, 3] = Softmax(%20) {axis=1}
      %22:bf16[4, 4] = Cast(%5) {to=bf16}
      %23:bf16[3, 4] = MatMul(%12, %22)
      %24:bf16[3, 4] = MatMul(%21, %23)
      %25:bf16[4, 4] = Cast(%6) {to=bf16}
      %26:bf16[3, 4] = MatMul(%24, %25)
      %27:f32[3, 4] = Cast(%26) {to=f32}
      %28:f32[3, 4] = Add(%8, %27)
      return "result" %28
      "
    `);
    expect(printGraph(autocastGraph(handLoss(), mixedBfloat16Policy))).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[4, 3]
      %1 = batch "x" : f32[2, 4]
      %2 = batch "target" : f32[2, 3]
      %3:bf16[2, 4] = Cast(%1) {to=bf16}
      %4:bf16[2, 4] = Relu(%3)
      %5:bf16[4, 3] = Cast(%0) {to=bf16}
      %6:bf16[2, 3] = MatMul(%4, %5)
      %7:bf16[2, 1] = ReduceMax(%6) {axes=[1] keepdims=true}
      %8:bf16[2, 3] = Sub(%6, %7)
      %9:bf16[2, 3] = Exp(%8)
      %10:f32[2, 3] = Cast(%9) {to=f32}
      %11:f32[2, 1] = ReduceSum(%10) {axes=[1] keepdims=true}
      %12:f32[2, 3] = Div(%10, %11)
      %13:f32[2, 3] = Gelu(%12) {approximate=none}
      %14:f32[2, 3] = Mul(%13, %2)
      %15:f32[] = ReduceSum(%14) {axes=[0,1] keepdims=false}
      return "error" %15
      return "p" %12
      "
    `);
  });
});

describe("weak operands", () => {
  it("cast a bias with the sum it meets, also one that was cut and scaled on the way", () => {
    const graph = graphOf({ w: [4, 4], b: [2, 2] }, { x: [3, 4] }, ({ w, b, x }) =>
      add(matMul(x, w), mul(reshape(b, [4]), 2)),
    );
    expect(half(graph)).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[4, 4]
      %1 = parameter "b" : f32[2, 2]
      %2 = batch "x" : f32[3, 4]
      %3:f16[3, 4] = Cast(%2) {to=f16}
      %4:f16[4, 4] = Cast(%0) {to=f16}
      %5:f16[3, 4] = MatMul(%3, %4)
      %6:f32[4] = Reshape(%1) {shape=[4]}
      %7:f32[] = Constant() {value=f32[](2) literal=2}
      %8:f32[4] = Mul(%6, %7)
      %9:f16[4] = Cast(%8) {to=f16}
      %10:f16[3, 4] = Add(%5, %9)
      %11:f32[3, 4] = Cast(%10) {to=f32}
      return "result" %11
      "
    `);
  });

  it("do not narrow what is f32: an f32 batch value with a parameter stays f32", () => {
    const graph = graphOf({ b: [4] }, { x: [3, 4] }, ({ b, x }) => relu(add(mul(x, 2), b)));
    expect(autocastGraph(graph, mixedFloat16Policy)).toEqual(graph);
  });

  it("stay f32 among themselves: a weight penalty is computed on the parameters as they are kept", () => {
    const graph = graphOf({ w: [4] }, {}, ({ w }) => reduceSum(square(mul(w, 0.5))));
    expect(dtypes(autocastGraph(graph, mixedBfloat16Policy))).toEqual([
      "Mul f32",
      "Mul f32",
      "ReduceSum f32",
    ]);
  });

  it("are scalars, not tables: a table of constants is data in f32", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [3, 4] }, ({ w, x }) => [
      add(matMul(x, w), constant(tensor(Float32Array.of(1, 2, 3, 4)))),
      add(matMul(x, w), constant(tensor(Float32Array.of(1)))),
    ]);
    expect(dtypes(autocastGraph(graph, mixedFloat16Policy))).toEqual([
      "MatMul f16",
      "Add f32",
      "MatMul f16",
      "Add f16",
    ]);
  });

  it("end where data comes in: an embedding is data", () => {
    const graph = attention();
    expect(dtypes(autocastGraph(graph, mixedFloat16Policy)).at(-1)).toBe("Add f32");
  });
});

describe("several operands", () => {
  it("meet in the widest: a residual in f32 stays f32", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [3, 4] }, ({ w, x }) => add(x, relu(matMul(x, w))));
    expect(dtypes(autocastGraph(graph, mixedFloat16Policy))).toEqual(["MatMul f16", "Relu f16", "Add f32"]);
  });

  it("of the two halves meet in f32", () => {
    const f16 = { dtype: "f16", shape: [4, 4] } as const;
    const graph = graphOf({ w: [4, 4] }, { x: f16 }, ({ w, x }) => mul(matMul(x, cast(w, "f16")), x));
    expect(dtypes(autocastGraph(graph, mixedBfloat16Policy))).toEqual(["MatMul bf16", "Mul f32"]);
    expect(dtypes(autocastGraph(graph, mixedFloat16Policy))).toEqual(["MatMul f16", "Mul f16"]);
  });

  it("are joined in f16 where only f16 is read, in f32 where f32 is", () => {
    const joined = (alsoAsF32: boolean): Graph =>
      graphOf({ w: [4, 4], v: [8, 2] }, { x: [3, 4] }, ({ w, v, x }) => {
        const both = concat([x, matMul(x, w)], 1);
        return alsoAsF32 ? [matMul(both, v), both] : matMul(both, v);
      });
    expect(dtypes(autocastGraph(joined(false), mixedFloat16Policy))).toContain("Concat f16");
    expect(dtypes(autocastGraph(joined(true), mixedFloat16Policy))).toContain("Concat f32");
  });
});

describe("what follows a deny node", () => {
  it("is f32 on the way to an infer node, and free to be low on the way to a product", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => {
      const y = exp(matMul(x, w));
      return [matMul(reshape(y, [4, 4]), w), gelu(matMul(gelu(reshape(y, [2, 8])), constant(ones)))];
    });
    expect(dtypes(autocastGraph(graph, mixedFloat16Policy))).toEqual([
      "MatMul f16",
      "Exp f32",
      "Reshape f16",
      "MatMul f16",
      "Reshape f32",
      "Gelu f32",
      "MatMul f16",
      "Gelu f16",
    ]);
  });
});

describe("what sums in f32 inside", () => {
  it("is low between products, also with something between it and them, and f32 where f32 reads it", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => {
      const scores = matMul(x, w);
      return [matMul(mul(softmax(scores), 2), w), softmax(scores)];
    });
    expect(dtypes(autocastGraph(graph, mixedBfloat16Policy))).toEqual([
      "MatMul bf16",
      "Softmax bf16",
      "Mul bf16",
      "MatMul bf16",
      "Softmax f32",
    ]);
  });
});

describe("nodes that only order or that nobody reads", () => {
  it("cause no casts", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => {
      reshape(x, [16]);
      return emit("Barrier", [matMul(x, w), x, w], {});
    });
    expect(half(graph)).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[4, 4]
      %1 = batch "x" : f32[4, 4]
      %2:f32[16] = Reshape(%1) {shape=[16]}
      %3:f16[4, 4] = Cast(%1) {to=f16}
      %4:f16[4, 4] = Cast(%0) {to=f16}
      %5:f16[4, 4] = MatMul(%3, %4)
      %6:f16[4, 4] = Barrier(%5, %1, %0)
      %7:f32[4, 4] = Cast(%6) {to=f32}
      return "result" %7
      "
    `);
  });
});

describe("a graph that has been differentiated already", () => {
  it("keeps what its backward nodes say of its forward nodes", () => {
    const graph = graphOf({ w: [4, 4] }, {}, ({ w }) =>
      grad((weights: Tensor) => {
        const low = cast(mul(weights, 2), "f16");
        return reduceSum(cast(matMul(low, low), "f32"));
      })(w),
    );
    const named = (net: Graph): string[] =>
      net.nodes.flatMap(({ op, origin: { forward } }) => {
        const of = net.nodes.find((node) => node.name === forward);
        return of === undefined ? [] : [`${op} of ${of.op} at ${of.origin.line}`];
      });
    expect(named(graph).length).toBeGreaterThan(3);
    const result = autocastGraph(graph, mixedBfloat16Policy);
    const own = new Set(named(graph));
    expect(new Set(named(result).filter((row) => own.has(row)))).toEqual(own);
  });
});

describe("dangers that an op's name does not show", () => {
  it("a square in f16 is a power", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [3, 4] }, ({ w, x }) => square(matMul(x, w)));
    expect(dtypes(autocastGraph(graph, mixedFloat16Policy))).toEqual(["MatMul f16", "Mul f32"]);
    expect(dtypes(autocastGraph(graph, mixedBfloat16Policy))).toEqual(["MatMul bf16", "Mul bf16"]);
  });

  it("dividing by less than 2^-14 in f16 may overflow", () => {
    const over = (divisor: number): Graph =>
      graphOf({ w: [4, 4] }, { x: [3, 4] }, ({ w, x }) => div(matMul(x, w), divisor));
    expect(dtypes(autocastGraph(over(2 ** -14), mixedFloat16Policy))).toContain("Div f16");
    expect(dtypes(autocastGraph(over(2 ** -15), mixedFloat16Policy))).toContain("Div f32");
    expect(dtypes(autocastGraph(over(2 ** -15), mixedBfloat16Policy))).toContain("Div bf16");
  });
});

describe("constants", () => {
  /** Softmax of masked scores; with `ends: "product"`, a product that reads the masked scores in the half dtype. */
  const masked = (value: number, ends: "softmax" | "product" = "softmax"): Graph =>
    graphOf({ w: [4, 4] }, { x: [4, 4], keep: { dtype: "bool", shape: [4, 4] } }, ({ w, x, keep }) =>
      scope("attention", () => {
        const scores = where(keep, matMul(x, w), value);
        return ends === "product" ? matMul(scores, w) : softmax(scores);
      }),
    );

  it("are refused where a finite one has no finite value and is read in the half, naming node, line and remedy", () => {
    expect(() => autocastGraph(masked(-1e9, "product"), mixedFloat16Policy)).toThrow(
      /^autocast: attention\/Where: -1000000000 has no finite value in f16, and attention\/MatMul_1 reads the result in f16 \(at .*autocast-graph\.test\.ts:\d+:\d+\); a mask in f16 is -3e4; or keep it in f32 with policy\.with\(\{ scopes: \{ "attention": \{ MatMul: "f32" \} \} \}\)$/,
    );
    expect(() => autocastGraph(masked(-1e9, "product"), mixedFloat16Policy)).toThrow(
      expect.objectContaining({
        code: "MP_OUT_OF_RANGE",
        details: expect.objectContaining({
          node: "attention/Where",
          scope: "attention",
          line: expect.stringContaining("autocast-graph.test.ts"),
          remedies: [{ option: "policy", value: { scopes: { attention: { MatMul: "f32" } } } }],
        }),
      }),
    );
  });

  it("are no masks where they are above 0", () => {
    const large = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => matMul(mul(matMul(x, w), 1e6), w));
    const policy = mixedFloat16Policy.with({ ops: { Mul: "low" } });
    expect(() => autocastGraph(large, policy)).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/has no finite value in f16.*; make it smaller; or keep it in f32/),
        details: expect.objectContaining({
          remedies: [{ option: "policy", value: { ops: { Mul: "f32" } } }],
        }),
      }),
    );
  });

  it("pass where they fit, where they are infinite, and with the remedies of the message", () => {
    const product = (value: number): Graph => masked(value, "product");
    const remedy = mixedFloat16Policy.with({ scopes: { attention: { MatMul: "f32" } } });
    expect(dtypes(autocastGraph(product(-3e4), mixedFloat16Policy))).toContain("Where f16");
    expect(dtypes(autocastGraph(product(Number.NEGATIVE_INFINITY), mixedFloat16Policy))).toContain(
      "Where f16",
    );
    expect(dtypes(autocastGraph(product(-1e9), mixedBfloat16Policy))).toContain("Where bf16");
    expect(dtypes(autocastGraph(product(-1e9), remedy))).toContain("Where f32");
  });

  it("keep their reader in f32 where all that read its result compute in f32", () => {
    const smallest = -3.4028234663852886e38;
    for (const policy of [mixedFloat16Policy, mixedBfloat16Policy]) {
      expect(dtypes(autocastGraph(masked(smallest), policy))).toContain("Where f32");
      expect(explainCasts(masked(smallest), policy).nodes).toContainEqual(
        expect.objectContaining({
          node: "attention/Where",
          dtype: "f32",
          rule: "constant beyond the half",
          because: `${smallest} has no finite value in ${policy.compute}`,
        }),
      );
    }
  });

  it("keep it in f32 also as an added mask, expanded, reshaped, and before a softmax that a product reads", () => {
    type Masking = (scores: Tensor, keep: Tensor) => Tensor;
    const low = -3.4028234663852886e38;
    const maskings: Readonly<Record<string, Masking>> = {
      added: (scores, keep) => add(scores, where(keep, literal(0), low)),
      multiplied: (scores, keep) => add(scores, mul(sub(1, cast(keep, "f32")), low)),
      expanded: (scores, keep) => where(keep, scores, expand(literal(low), [4, 4])),
      reshaped: (scores, keep) => reshape(where(keep, scores, low), [2, 2, 4]),
    };
    for (const [name, masking] of Object.entries(maskings))
      for (const policy of [mixedFloat16Policy, mixedBfloat16Policy]) {
        const graph = graphOf(
          { w: [4, 4] },
          { x: [4, 4], keep: { dtype: "bool", shape: [4, 4] } },
          ({ w, x, keep }) => matMul(softmax(masking(matMul(x, w), keep)), w),
        );
        const cast = autocastGraph(graph, policy);
        const softmaxes = dtypes(cast).filter((text) => text.startsWith("Softmax"));
        expect(softmaxes, `${name} ${policy}`).toEqual(["Softmax f32"]);
        // The graph has the smallest f32 number only in f32.
        expect(printGraph(cast), name).not.toMatch(/Constant\(\) \{value=(f16|bf16)\[\]\((64512|65408)\)/);
      }
  });

  it("are refused in a table and as an attribute too", () => {
    const table = graphOf({}, { x: [1, 2] }, ({ x }) =>
      matMul(x, constant(tensor(Float32Array.of(1, 7e4), [2, 1]))),
    );
    const padded = graphOf({ w: [4, 4], v: [5, 4] }, { x: [4, 4] }, ({ w, v, x }) => {
      const pads = [
        [0, 0],
        [0, 1],
      ] as const;
      return matMul(pad(matMul(x, w), pads, { value: -1e9 }), v);
    });
    expect(() => autocastGraph(table, mixedFloat16Policy)).toThrow(
      /MatMul: 70000 has no finite value in f16/,
    );
    expect(() => autocastGraph(padded, mixedFloat16Policy)).toThrow(
      /Pad: -1000000000 has no finite value in f16/,
    );
  });

  it("are rounded once, from the number that was written", () => {
    // Rounded to f32 first, this number becomes a tie of f16 and rounds to 1 (0x3c00).
    const number = 1 + 2 ** -11 + 2 ** -40;
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => mul(matMul(x, w), number));
    expect(half(graph)).toContain(`Constant() {value=f16[](${0x3c01}) literal=${number}}`);
  });

  it("are made in each dtype they are read in, and never cast", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => {
      const two = literal(2);
      const table = constant(tensor(Float32Array.of(1, 2, 3, 4)));
      return [mul(matMul(x, w), two), mul(x, two), matMul(x, reshape(table, [4, 1])), add(x, table)];
    });
    const result = autocastGraph(graph, mixedFloat16Policy);
    const made = result.nodes.filter(({ op }) => op === "Constant");
    expect(made.map(({ outputs }) => outputs[0]?.dtype).sort()).toEqual(["f16", "f16", "f32", "f32"]);
    expect(half(graph).match(/Cast/g)).toHaveLength(4);
  });
});

describe("user casts", () => {
  it("say where a dtype begins, and stay", () => {
    const graph = graphOf({ w: [4, 4], v: [4, 4] }, { x: [4, 4] }, ({ w, v, x }) => {
      const low = cast(x, "f16");
      return { early: relu(low), late: exp(cast(matMul(x, w), "bf16")), mixed: add(low, matMul(x, v)) };
    });
    expect(half(graph)).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[4, 4]
      %1 = parameter "v" : f32[4, 4]
      %2 = batch "x" : f32[4, 4]
      %3:f16[4, 4] = Cast(%2) {to=f16}
      %4:f16[4, 4] = Relu(%3)
      %5:f16[4, 4] = Cast(%0) {to=f16}
      %6:f16[4, 4] = MatMul(%3, %5)
      %7:bf16[4, 4] = Cast(%6) {to=bf16}
      %8:f32[4, 4] = Cast(%7) {to=f32}
      %9:f32[4, 4] = Exp(%8)
      %10:f16[4, 4] = Cast(%1) {to=f16}
      %11:f16[4, 4] = MatMul(%3, %10)
      %12:f32[4, 4] = Cast(%3) {to=f32}
      %13:f32[4, 4] = Cast(%11) {to=f32}
      %14:f32[4, 4] = Add(%12, %13)
      %15:f32[4, 4] = Cast(%4) {to=f32}
      return "early" %15
      return "late" %9
      return "mixed" %14
      "
    `);
  });

  it("are not cast back and forth: what was widened is read narrow", () => {
    const f16 = { dtype: "f16", shape: [4, 4] } as const;
    const graph = graphOf({ w: [4, 4] }, { x: f16 }, ({ w, x }) => matMul(cast(x, "f32"), w));
    expect(half(graph)).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[4, 4]
      %1 = batch "x" : f16[4, 4]
      %2:f32[4, 4] = Cast(%1) {to=f32}
      %3:f16[4, 4] = Cast(%0) {to=f16}
      %4:f16[4, 4] = MatMul(%1, %3)
      %5:f32[4, 4] = Cast(%4) {to=f32}
      return "result" %5
      "
    `);
  });

  it("decide the dtype of a result that they make", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => cast(matMul(x, w), "bf16"));
    expect(autocastGraph(graph, mixedFloat16Policy).outputs[0]?.value.dtype).toBe("bf16");
  });

  it("make by hand, in manual mode, the graph that the automatic mode makes", () => {
    const shapes = { w0: [4, 8], b0: [8], w1: [8, 3], b1: [3] };
    const byHand = graphOf(shapes, { x: [2, 4], y: labels(2) }, (t) => {
      const hidden = scope("hidden", () =>
        gelu(add(matMul(cast(t.x, "f16"), cast(t.w0, "f16")), cast(t.b0, "f16"))),
      );
      const scores = scope("out", () => add(matMul(hidden, cast(t.w1, "f16")), cast(t.b1, "f16")));
      return softmaxCrossEntropyLoss(cast(scores, "f32"), t.y);
    });
    expect(printGraph(autocastGraph(byHand, manualPolicy))).toBe(half(mlp()));
    expect(half(byHand)).toBe(half(mlp()));
  });
});

describe("overrides", () => {
  const twoHeads = (): Graph =>
    graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) =>
      scope("net", () => {
        const body = scope("body", () => matMul(x, w));
        return [scope("head", () => softmax(matMul(body, w))), scope("head2", () => softmax(body))];
      }),
    );
  const under = (changes: Parameters<typeof mixedFloat16Policy.with>[0]): string[] =>
    dtypes(autocastGraph(twoHeads(), mixedFloat16Policy.with(changes)));

  it("by op, by scope, and by op in a scope", () => {
    expect(under({})).toEqual(["MatMul f16", "MatMul f16", "Softmax f32", "Softmax f32"]);
    expect(under({ ops: { Softmax: "low" } })).toEqual([
      "MatMul f16",
      "MatMul f16",
      "Softmax f16",
      "Softmax f16",
    ]);
    expect(under({ scopes: { "net/head": "f32" } })).toEqual([
      "MatMul f16",
      "MatMul f32",
      "Softmax f32",
      "Softmax f32",
    ]);
    expect(under({ scopes: { "net/head": { Softmax: "low" } } })).toEqual([
      "MatMul f16",
      "MatMul f16",
      "Softmax f16",
      "Softmax f32",
    ]);
    expect(under({ scopes: { net: "f32", "net/body": "low" } })).toEqual([
      "MatMul f16",
      "MatMul f32",
      "Softmax f32",
      "Softmax f32",
    ]);
  });

  it("give grappler's own treatment of sums and products: narrow between products, wide behind exp", () => {
    const grappler = mixedFloat16Policy.with({ ops: { Add: "infer", Mul: "infer", Tanh: "infer" } });
    const cell = dtypes(autocastGraph(lstm(), grappler));
    expect(cell.filter((node) => node.endsWith("f32"))).toEqual([]);
    const loss = dtypes(autocastGraph(handLoss(), grappler));
    expect(loss).toContain("Mul f32");
  });
});

describe("pure policies", () => {
  it("compute everything in the half, results included", () => {
    for (const [policy, dtype] of [
      [float16Policy, "f16"],
      [bfloat16Policy, "bf16"],
    ] as const) {
      const result = autocastGraph(handLoss(), policy);
      expect(new Set(dtypes(result).map((node) => node.split(" ")[1]))).toEqual(new Set([dtype]));
      expect(result.outputs.map(({ value }) => value.dtype)).toEqual([dtype, dtype]);
    }
  });

  it("read parameters that are kept in the half as they are", () => {
    const f16 = { dtype: "f16", shape: [4, 4] } as const;
    const graph = graphOf({ w: f16 }, { x: [4, 4] }, ({ w, x }) => matMul(x, cast(w, "f32")));
    expect(half(graph)).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f16[4, 4]
      %1 = batch "x" : f32[4, 4]
      %2:f16[4, 4] = Cast(%1) {to=f16}
      %3:f16[4, 4] = MatMul(%2, %0)
      %4:f32[4, 4] = Cast(%3) {to=f32}
      return "result" %4
      "
    `);
  });
});

describe("a backend's manifest", () => {
  it("keeps in f32 what has no kernel in the half, overrides or not", () => {
    const manifest = manifestOf({ opDTypes: { Gelu: ["f32"], MatMul: ["f32", "bf16"] } });
    const policy = mixedFloat16Policy.with({ ops: { Gelu: "low" } });
    expect(dtypes(autocastGraph(mlp(), policy, { manifest }))).toEqual([
      "MatMul f32",
      "Add f32",
      "Gelu f32",
      "MatMul f32",
      "Add f32",
      "SoftmaxCrossEntropyLoss f32",
    ]);
    expect(dtypes(autocastGraph(mlp(), mixedBfloat16Policy, { manifest }))).toEqual([
      "MatMul bf16",
      "Add bf16",
      "Gelu f32",
      "MatMul bf16",
      "Add bf16",
      "SoftmaxCrossEntropyLoss f32",
    ]);
  });

  it("says whether a softmax between products may be low: where its kernel sums in f32", () => {
    const softmaxIn = (
      accumulate: "f32" | "f16" | "bf16",
      policy = mixedFloat16Policy,
    ): string | undefined => {
      const manifest = manifestOf({
        accumulate: { default: { f32: "f32", f16: accumulate, bf16: accumulate } },
      });
      return dtypes(autocastGraph(attention(), policy, { manifest })).find((node) =>
        node.startsWith("Softmax"),
      );
    };
    expect(softmaxIn("f32")).toBe("Softmax f16");
    expect(softmaxIn("f16")).toBe("Softmax f32");
    expect(softmaxIn("f32", mixedBfloat16Policy)).toBe("Softmax bf16");
    expect(softmaxIn("bf16", mixedBfloat16Policy)).toBe("Softmax f32");
  });

  it("is refused where it has nothing of the half at all", () => {
    const manifest = manifestOf({ dtypes: { f32: { storage: "f32", compute: "native" } } });
    expect(() => autocastGraph(mlp(), mixedFloat16Policy, { manifest })).toThrow(
      expect.objectContaining({
        code: "MP_UNSUPPORTED",
        message:
          "casting policy params=f32,compute=f16,output=f32: test has no f16, no storage; take another policy or backend",
      }),
    );
  });
});

describe("checkpoint segments", () => {
  it("have casts of their own", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => {
      const first = withSegment(0, () => sqrt(matMul(x, w)));
      const second = withSegment(1, () => sigmoid(matMul(first, w)));
      return matMul(second, w);
    });
    expect(half(graph)).toMatchInlineSnapshot(`
      "%0 = parameter "w" : f32[4, 4]
      %1 = batch "x" : f32[4, 4]
      %2:f16[4, 4] = Cast(%1) {to=f16}  # segment 0
      %3:f16[4, 4] = Cast(%0) {to=f16}  # segment 0
      %4:f16[4, 4] = MatMul(%2, %3)  # segment 0
      %5:f16[4, 4] = Sqrt(%4)  # segment 0
      %6:f16[4, 4] = Cast(%0) {to=f16}  # segment 1
      %7:f16[4, 4] = MatMul(%5, %6)  # segment 1
      %8:f16[4, 4] = Sigmoid(%7)  # segment 1
      %9:f16[4, 4] = Cast(%0) {to=f16}
      %10:f16[4, 4] = MatMul(%8, %9)
      %11:f32[4, 4] = Cast(%10) {to=f32}
      return "result" %11
      "
    `);
  });
});

describe("what is no float", () => {
  it("is left alone", () => {
    const i32 = { dtype: "i32", shape: [4] } as const;
    const graph = graphOf({}, { n: i32 }, ({ n }) => ({ n: add(n, 1), same: n, wide: expand(n, [2, 4]) }));
    expect(autocastGraph(graph, float16Policy)).toEqual(graph);
  });
});

it("keeps transposed weights low: the cast comes first", () => {
  const graph = graphOf({ w: [2, 4] }, { x: [3, 4] }, ({ w, x }) => matMul(x, transpose(w)));
  expect(half(graph)).toMatchInlineSnapshot(`
    "%0 = parameter "w" : f32[2, 4]
    %1 = batch "x" : f32[3, 4]
    %2:f16[2, 4] = Cast(%0) {to=f16}
    %3:f16[4, 2] = Transpose(%2) {perm=[1,0]}
    %4:f16[3, 4] = Cast(%1) {to=f16}
    %5:f16[3, 2] = MatMul(%4, %3)
    %6:f32[3, 2] = Cast(%5) {to=f32}
    return "result" %6
    "
  `);
});
