import {
  customGradient,
  type HostTensor,
  key,
  ones,
  scope,
  type Tensor,
  tensor,
  traceInto,
  valueAndGrad,
} from "@mp/graph";
import {
  add,
  concat,
  constant,
  conv,
  einsum,
  gather,
  matMul,
  mul,
  reduceMean,
  reduceSum,
  relu,
  reshape,
  scan,
  slice,
  softmax,
  stopGradient,
  tanh,
  transpose,
} from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { numbersOf } from "../../../graph/test/evaluate-op.js";
import { runTraced } from "../../../graph/test/run-traced.js";
import { wave } from "../../test/small-run.js";
import { autocast } from "../cast/autocast.js";
import { type CastReport, formatCastReport } from "../cast/explain.js";
import { float32Policy } from "../cast/policy.js";
import {
  float8,
  mxfp8,
  nvfp4,
  type QuantizedPrecision as Precision,
} from "../precision/quantized-presets.js";
import { delayedScaling } from "./delayed-scaling.js";

type Weights = Readonly<Record<string, readonly number[]>>;
type Layers = (x: Tensor, weights: Readonly<Record<string, Tensor>>) => Tensor;

/** The decisions on a model's products, each by scope and operator. */
function explain(
  weights: Weights,
  x: HostTensor,
  model: Layers,
  precision: Precision,
  trained: readonly string[] | null = Object.keys(weights),
): CastReport {
  const reports: CastReport[] = [];
  const names = Object.keys(weights);
  traceInto(
    [
      { name: "x", role: "batch", type: x },
      ...names.map((name) => ({
        name,
        role: "parameter" as const,
        type: { dtype: "f32" as const, shape: weights[name] ?? [] },
      })),
    ],
    ([data, ...given]) =>
      autocast(
        () => model(data as Tensor, Object.fromEntries(names.map((name, at) => [name, given[at] as Tensor]))),
        float32Policy,
        {
          recipe: precision.recipe,
          key: key(1),
          report: (report) => reports.push(report),
          encodes: trained?.map((name) => [given[names.indexOf(name)] as Tensor, constant(ones([3]))]),
        },
      )(),
  );
  return reports[0] as CastReport;
}

const decisions = ({ nodes }: CastReport): readonly string[] =>
  nodes.flatMap(({ scope, op, quantized }) =>
    quantized === undefined
      ? []
      : [`${scope} ${op}: ${quantized.operands.map(({ role }) => role).join(" ")}; ${quantized.because}`],
  );

const dense: Layers = (x, { a, b, c, d }) => {
  const layer = (name: string, input: Tensor, weight: Tensor | undefined): Tensor =>
    scope(name, () => tanh(matMul(input, weight as Tensor)));
  return layer("out", layer("two", layer("one", layer("in", x, a), b), c), d);
};
const square = { a: [8, 8], b: [8, 8], c: [8, 8], d: [8, 8] };
const x = wave([4, 8], 0.3);

const attention: Layers = (input, { a, b, c, d }) => {
  const rows = scope("query", () => matMul(gather(a as Tensor, reshape(input, [-1])), b as Tensor));
  const shares = scope("scores", () => softmax(matMul(rows, transpose(rows, [1, 0]))));
  const mixed = scope("mix", () => matMul(shares, rows));
  const inner = scope("mlp", () => einsum("ij,kj->ik", mixed, c as Tensor));
  return scope("head", () => matMul(add(inner, mul(rows, 2)), transpose(d as Tensor, [1, 0])));
};
const ids = tensor(Int32Array.of(1, 0, 3, 2), [4]);

const pictures: Layers = (input, { a, b, c }) => {
  const first = scope("stem", () => relu(conv(input, a as Tensor)));
  const second = scope("body", () => relu(conv(first, b as Tensor)));
  return scope("head", () => matMul(reshape(second, [2, -1]), c as Tensor));
};
const delayed = float8({ scaling: delayedScaling(), scopes: { "": true } });
const kernels = { a: [3, 2, 3, 3], b: [3, 3, 3, 3], c: [12, 2] };
const picture = wave([2, 2, 6, 6], 0.3);

describe("a recipe", () => {
  it.each<[string, Layers, Weights, HostTensor, Precision, readonly string[]]>([
    [
      "leaves out the first and the last layer",
      dense,
      square,
      x,
      float8(),
      [
        "in MatMul: ; first layer",
        "one MatMul: input weight gradient; float8",
        "two MatMul: input weight gradient; float8",
        "out MatMul: ; last layer",
      ],
    ],
    [
      "takes all layers that have weights, but for a scope",
      dense,
      square,
      x,
      float8({ scopes: { "": true, two: false } }),
      [
        'in MatMul: input weight gradient; scope ""',
        'one MatMul: input weight gradient; scope ""',
        "two MatMul: ; scope two",
        'out MatMul: input weight gradient; scope ""',
      ],
    ],
    [
      "takes the layer after an embedding, and no product of activations",
      attention,
      square,
      ids,
      nvfp4(),
      [
        "query MatMul: input weight gradient; nvfp4",
        "scores MatMul: ; no operand is a weight",
        "mix MatMul: ; no operand is a weight",
        "mlp Gemm: input weight gradient; nvfp4",
        "head MatMul: ; last layer",
      ],
    ],
    [
      "takes products of activations if asked",
      attention,
      square,
      ids,
      mxfp8({ products: "all", scopes: { head: true } }),
      [
        "query MatMul: input weight gradient; mxfp8",
        "scores MatMul: input input gradient; mxfp8",
        "mix MatMul: input input gradient; mxfp8",
        "mlp Gemm: input weight gradient; mxfp8",
        "head MatMul: input weight gradient; scope head",
      ],
    ],
    [
      "takes convolutions with one scale for each tensor",
      pictures,
      kernels,
      picture,
      float8(),
      ["stem Conv: ; first layer", "body Conv: input weight gradient; float8", "head MatMul: ; last layer"],
    ],
    [
      "leaves out convolutions if it scales blocks",
      pictures,
      kernels,
      picture,
      mxfp8({ scopes: { "": true } }),
      [
        "stem Conv: ; a convolution takes tensor scaling only",
        "body Conv: ; a convolution takes tensor scaling only",
        'head MatMul: input weight gradient; scope ""',
      ],
    ],
    [
      "scales by earlier steps only where the weight is one parameter, outside of loops",
      (input, { a, b, c, d }) => {
        const sum = scope("sum", () => matMul(matMul(input, a as Tensor), add(b as Tensor, c as Tensor)));
        const [, all] = scope("loop", () =>
          scan(
            (h: Tensor, each: Tensor): readonly [Tensor, Tensor] => {
              const next = tanh(matMul(add(h, each), c as Tensor));
              return [next, next];
            },
            mul(reduceMean(sum, { axes: [0] }), 0),
            sum,
          ),
        );
        return scope("out", () => matMul(all, transpose(d as Tensor, [1, 0])));
      },
      square,
      x,
      float8({ scaling: delayedScaling(), scopes: { out: true } }),
      [
        "sum MatMul: ; first layer",
        "sum MatMul: input weight gradient; float8_delayed, current scaling, as the weight is no parameter of two or more axes outside of loops",
        "loop MatMul: input weight gradient; float8_delayed, current scaling, as the weight is no parameter of two or more axes outside of loops",
        "out MatMul: input weight gradient; scope out",
      ],
    ],
    [
      "scales by the tensor itself where the weight is a vector",
      (input, { a, v }) => matMul(matMul(input, a as Tensor), v as Tensor),
      { a: [8, 8], v: [8] },
      x,
      float8({ scaling: delayedScaling(), scopes: { "": true } }),
      [
        ' MatMul: input weight gradient; scope ""',
        ' MatMul: input weight gradient; scope "", current scaling, as the weight is no parameter of two or more axes outside of loops',
      ],
    ],
    [
      "leaves what an inner policy decides",
      (input, weights) =>
        matMul(autocast(() => dense(input, weights), float32Policy)(), weights["a"] as Tensor),
      square,
      x,
      float8({ scopes: { "": true } }),
      [
        ...["in", "one", "two", "out"].map((name) => `${name} MatMul: ; an inner policy decides`),
        ' MatMul: input weight gradient; scope ""',
      ],
    ],
    [
      "leaves what an inner recipe decides, which knows no earlier steps",
      (input, { a, b }) =>
        matMul(autocast(matMul, float32Policy, { recipe: delayed.recipe })(input, a as Tensor), b as Tensor),
      square,
      x,
      delayed,
      [
        " MatMul: ; an inner recipe decides, without delayed scaling",
        ' MatMul: input weight gradient; scope ""',
      ],
    ],
    [
      "scales by the tensor itself where no gradient brings the magnitude",
      (input, { a, b, c, d }) => {
        const teacher = scope("stopped", () => stopGradient(matMul(input, a as Tensor)));
        const own = customGradient(
          (h: Tensor, w: Tensor) =>
            mul(
              scope("inside", () => matMul(h, w)),
              2,
            ),
          ({ inputs: [h, w] }, g) => [
            scope("rule", () => matMul(g, transpose(w, [1, 0]))),
            matMul(transpose(h, [1, 0]), g),
          ],
        );
        const before = scope("before", () => matMul(teacher, b as Tensor));
        return scope("after", () => matMul(own(before, c as Tensor), d as Tensor));
      },
      square,
      x,
      delayed,
      [
        'stopped MatMul: input weight gradient; scope "", current scaling, as no gradient reaches the product',
        'before MatMul: input weight gradient; scope ""',
        'after/inside MatMul: input weight gradient; scope "", current scaling, as no gradient reaches the product',
        'after MatMul: input weight gradient; scope ""',
      ],
    ],
  ])("%s", (_title, model, weights, data, precision, wanted) => {
    const report = explain(weights, data, model, precision);
    expect(decisions(report)).toEqual(wanted);
    for (const line of wanted) expect(formatCastReport(report)).toContain(line.split("; ")[1]);
  });

  it("scales by the tensor itself where the weight is frozen, or the trace is not a run's", () => {
    const model: Layers = (input, { a, b }) => matMul(matMul(input, a as Tensor), b as Tensor);
    const of = (trained: readonly string[] | null) =>
      decisions(explain({ a: [8, 8], b: [8, 8] }, x, model, delayed, trained));
    const first = ' MatMul: input weight gradient; scope ""';
    expect(of(["a"])).toEqual([first, `${first}, current scaling, as the weight is frozen`]);
    const noRun = `${first}, current scaling, as only the recipe of a run has a history`;
    expect(of(null)).toEqual([noRun, noRun]);
  });

  it("that takes no product is warned of, and so is a scope that is not there", () => {
    const lints = (precision: Precision) =>
      explain(
        { a: [8, 8], b: [8, 8] },
        x,
        (input, { a, b }) => matMul(matMul(input, a as Tensor), b as Tensor),
        precision,
      ).lints;
    expect(lints(float8()).map(({ rule }) => rule)).toEqual(["recipe-unused"]);
    // Each reason has its remedy: first and last layer, no weight, convolution.
    for (const words of ['{ "": true }', 'products: "all"', "float8() by tensor"])
      expect(lints(float8())[0]?.remedy).toContain(words);
    expect(lints(float8({ scopes: { "": true } }))).toEqual([]);
    expect(lints(float8({ scopes: { "": true, haed: false } })).map(({ rule }) => rule)).toEqual([
      "scope-unmatched",
    ]);
  });
});

it.each([float8(), float8({ granularity: "row" }), mxfp8()])(
  "in a loop computes what it computes in steps: $name",
  ({ recipe }) => {
    const data = { x: wave([3, 5, 8], 0.3), w: wave([8, 8], 0.7), g: wave([3, 5, 8], 1.1) };
    const cell = (h: Tensor, each: Tensor, w: Tensor): Tensor => tanh(add(matMul(h, w), each));
    const start = (each: Tensor): Tensor => mul(reduceMean(each, { axes: [0] }), 0.5);
    const inSteps = (each: Tensor, w: Tensor): readonly Tensor[] => {
      let h = start(each);
      return [0, 1, 2].map((start) => {
        h = cell(h, reshape(slice(each, [{ axis: 0, start, end: start + 1 }]), [5, 8]), w);
        return h;
      });
    };
    const made = runTraced(data, (given) => {
      const of = (body: (x: Tensor, w: Tensor) => Tensor) =>
        valueAndGrad((weight: Tensor) =>
          reduceSum(
            mul(
              autocast(body, float32Policy, {
                recipe: { ...(recipe as NonNullable<typeof recipe>), products: "all", scopes: { "": true } },
              })(given.x, weight),
              given.g,
            ),
          ),
        )(given.w);
      return {
        loop: of(
          (each, w) =>
            scan(
              (h: Tensor, one: Tensor): readonly [Tensor, Tensor] => {
                const next = cell(h, one, w);
                return [next, next];
              },
              start(each),
              each,
            )[1],
        ),
        steps: of((each, w) => reshape(concat(inSteps(each, w)), [3, 5, 8])),
        plain: valueAndGrad((weight: Tensor) =>
          reduceSum(mul(reshape(concat(inSteps(given.x, weight)), [3, 5, 8]), given.g)),
        )(given.w),
      };
    });
    const close = (a: HostTensor, b: HostTensor): void => {
      const want = [...numbersOf(b)];
      const size = Math.max(...want.map(Math.abs));
      for (const [at, each] of [...numbersOf(a)].entries())
        expect(Math.abs(each - (want[at] as number))).toBeLessThan(1e-5 * size);
    };
    close(made.loop.value, made.steps.value);
    close(made.loop.gradients, made.steps.gradients);
    expect([...numbersOf(made.loop.gradients)]).not.toEqual([...numbersOf(made.plain.gradients)]);
  },
);
