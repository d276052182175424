/** Quantized tensors, and a step whose products are quantized: what a backend that claims a recipe has to give. */
import {
  float32,
  type LossFunction,
  type Precision,
  type QuantizationRule,
  quantize,
  recipe,
} from "@mp/core";
import { type Graph, type HostTensor, type Tensor, tensor } from "@mp/graph";
import { cast, matMul, mul, reduceSum } from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { runGraph, type Tensors } from "../../cases/kinds/graph-case.js";
import { scriptedCase } from "../../cases/kinds/scripted-case.js";
import { compareAtScale } from "../../compare/graph-allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectThat, fail } from "../../expectations.js";
import { traceGraph } from "../../traced-graph.js";
import { exactSgd, type Fed, type NoModel } from "../problems.js";
import { trainerCase } from "../trainer-case.js";

type Rules = Readonly<Record<"input" | "weight" | "gradient", QuantizationRule>>;

const alike = (rule: QuantizationRule, others: Partial<Rules> = {}): Rules => ({
  input: rule,
  weight: rule,
  gradient: rule,
  ...others,
});
const hybrid = (rule: QuantizationRule): Rules =>
  alike({ ...rule, format: "f8e4m3" }, { gradient: { ...rule, format: "f8e5m2" } });
const mx = (format: "f8e4m3" | "e2m1"): QuantizationRule => ({
  format,
  granularity: "1x32",
  scale: { format: "e8m0", rounding: "rceil" },
});
const nv: QuantizationRule = { format: "e2m1", granularity: "1x16", scale: { format: "f8e4m3" } };
const along128: QuantizationRule = { format: "f8e4m3", granularity: "1x128", scale: { powerOfTwo: true } };

/** A recipe of each kind, without draws. */
const RECIPES: Readonly<Record<string, Rules>> = {
  tensor: hybrid({ format: "f8e4m3", epsilon: 1e-12 }),
  row: hybrid({ format: "f8e4m3", granularity: "row" }),
  "blocks-of-128": alike(along128, { weight: { ...along128, granularity: "128x128" } }),
  mxfp8: alike(mx("f8e4m3")),
  mxfp4: alike(mx("e2m1")),
  nvfp4: alike(nv, { weight: { ...nv, granularity: "16x16" } }),
};

const [ROWS, COLUMNS] = [32, 64];
const GRID = [0.5, -1, 1.5, 2, -3, 4, 6];

const BORDERS: Readonly<Record<number, number>> = { 11: 7, 12: 6 };

/**
 * Numbers far from every tie of codes, so that a division may be off by some units. Each block of 16 has its own
 * magnitude; one of 32 and a row are 0. Two rows end just above 7 and 6: 448 is 2^6 · 7.
 */
function numbers(infiniteAt?: number): HostTensor<"f32"> {
  const data = Float32Array.from({ length: ROWS * COLUMNS }, (_, at) => {
    const [row, column] = [Math.floor(at / COLUMNS), at % COLUMNS];
    if (at === infiniteAt) return Number.POSITIVE_INFINITY;
    if (row === 5 || (row === 3 && column < 32)) return 0;
    const border = BORDERS[row];
    if (border !== undefined && column === 20) return border * (1 + 2 ** -12);
    const drop = border === undefined ? (row + Math.floor(column / 16)) % 4 : 1;
    return (GRID[(row * 3 + column * 5) % GRID.length] as number) * (1 + 7 / 128) * 2 ** -drop;
  });
  return tensor(data, [ROWS, COLUMNS]);
}

const quantizedGraph = (rule: QuantizationRule): Graph =>
  traceGraph({ x: { dtype: "f32", shape: [ROWS, COLUMNS] } }, ({ x }) => {
    const { codes, ...others } = quantize(x as Tensor, rule, 1);
    return { codes: cast(codes, "f32"), ...others };
  });

/** Codes must be equal. Scales may differ by the error of an engine's division. */
const tolerances = { codes: 0, scale: 2 ** -20, tensorScale: 2 ** -20, values: 2 ** -20 };

function expectQuantized(got: Tensors, want: Tensors, what: string): void {
  for (const [name, tolerance] of Object.entries(tolerances)) {
    const [tensor, wanted] = [got[name], want[name]];
    const mismatch = wanted === undefined ? undefined : compareAtScale(tensor, wanted, tolerance);
    if (mismatch !== undefined) fail(`${name} ${what} ${mismatch}`);
  }
}

const codesCase = (name: string, rule: QuantizationRule): ConformanceCase =>
  scriptedCase(
    `recipe/${name}/codes`,
    () => quantizedGraph(rule),
    async (backend) => {
      // Made again for each run, since a wrong backend may overwrite its constants.
      const graph = quantizedGraph(rule);
      const given = { x: numbers() };
      expectQuantized(await runGraph(backend, graph, given), evaluate(graph, given), "of numbers");
      const beside = 9 * COLUMNS + 40;
      const { values } = await runGraph(backend, graph, { x: numbers(beside) });
      expectThat(
        !Number.isFinite((values as HostTensor<"f32">).data[beside]),
        "an infinite number became finite, so that the check of a step cannot find it",
      );
    },
  );

type Weights = { readonly w: HostTensor<"f32">; readonly v: HostTensor<"f32"> };

const loss: LossFunction<Weights, Fed, NoModel> = ({ w, v }, { x }) => {
  const result = matMul(matMul(x, w), v);
  return reduceSum(mul(result, result));
};

const transposed = ({ data }: HostTensor<"f32">, scale: number): HostTensor<"f32"> =>
  tensor(
    Float32Array.from(
      { length: data.length },
      (_, at) => scale * (data[(at % ROWS) * COLUMNS + Math.floor(at / ROWS)] as number),
    ),
    [COLUMNS, ROWS],
  );

function stepCase(name: string, rules: Rules): ConformanceCase {
  const precision: Precision = { ...float32(), recipe: recipe({ name, ...rules, scopes: { "": true } }) };
  const params: Weights = { w: transposed(numbers(), 2 ** -6), v: tensor(numbers().data, [ROWS, COLUMNS]) };
  return trainerCase<Weights, Fed, NoModel, Tensors>(
    `recipe/${name}/step`,
    { params, loss, optimizer: exactSgd(2 ** -12), precision },
    async ({ training }) => {
      await training.step({ x: numbers() });
      return (await training.parameters()) as Weights;
    },
    (got, want) => {
      for (const [key, start] of Object.entries(params)) {
        const moved = ({ [key]: after }: Tensors): HostTensor =>
          tensor(
            (after as HostTensor<"f32">).data.map((number, at) => number - (start.data[at] as number)),
            start.shape,
          );
        const mismatch = compareAtScale(moved(got), moved(want), 1e-3);
        if (mismatch !== undefined) fail(`the step of ${key} ${mismatch}`);
      }
    },
  );
}

export const recipeCases: readonly ConformanceCase[] = Object.entries(RECIPES).flatMap(([name, rules]) => [
  codesCase(name, rules.input),
  stepCase(name, rules),
]);
