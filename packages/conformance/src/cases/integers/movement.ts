/** Ops that move or choose integers keep every bit: the samples of these ops with integers too large for floats. */
import { type HostTensor, OPS, type Op, opTable, rowsOf, tensor } from "@mp/graph";
import { EXACT } from "../../compare/allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { randomSource } from "../../random-source.js";
import { type IntegerDType, integerData, oddIntegers } from "../../samples/integers.js";
import type { OpSample, Sampled } from "../../samples/op-sample.js";
import { opRows } from "../../samples/op-table.js";
import { graphCase } from "../kinds/graph-case.js";
import { sampleGraph } from "../kinds/op-cases.js";

/** Ops that move data, with the indices of their data operands; undefined means all. */
const movers: { readonly [K in Op]?: readonly number[] } = {
  ...rowsOf(
    OPS.filter((op) => opTable[op].moves !== undefined && opTable[op].moves !== "fills"),
    () => [0],
  ),
  Barrier: [0, 2],
  Where: [1, 2],
  Concat: [0, 1, 2],
  ScatterElements: [0, 2],
  ScatterND: [0, 2],
  Pad: [0],
};

/** Random numbers for samples whose data operands are replaced afterwards. */
const STUB = randomSource(0, "");

function moverSamples<K extends Op>(op: K, dtype: IntegerDType): readonly OpSample<K>[] {
  const { samples }: { readonly samples: Sampled<K> } = opRows[op];
  return Object.values(samples({ dtype, random: STUB }))
    .flat()
    .map((sample) => ({
      ...sample,
      inputs: sample.inputs.map(
        (operand, place): HostTensor =>
          movers[op]?.includes(place) === true ? oddIntegers(dtype, operand.shape, 1_000 * place) : operand,
      ),
    }));
}

function moverCase<K extends Op>(op: K, dtype: IntegerDType): ConformanceCase {
  return graphCase(`integer/${op}-${dtype}/moves-every-bit`, () => ({
    ...sampleGraph(op, moverSamples(op, dtype)),
    allowance: () => EXACT,
  }));
}

const DTYPES = ["i32", "i64", "u64"] as const;

const constants: readonly ConformanceCase[] = DTYPES.map((dtype) =>
  graphCase(`integer/Constant-${dtype}/keeps-every-bit`, () => {
    const values = [[], [3], [2, 3], [600]].map((shape) => oddIntegers(dtype, shape));
    const samples = values.map((value) => ({ attributes: { value }, inputs: [] }));
    const want = values.map((value, index) => [`sample${index}.result0`, value] as const);
    return { ...sampleGraph("Constant", samples), allowance: () => EXACT, want: Object.fromEntries(want) };
  }),
);

/** i64 counters one step before and after 2^32, 2^53 and other powers of two. */
const counters: ConformanceCase = graphCase("integer/Add-i64/counters-go-on-beyond-2-to-the-32", () => {
  const starts = [31n, 32n, 33n, 53n, 62n].flatMap((power) => [
    2n ** power - 1n,
    2n ** power,
    2n ** power + 1n,
  ]);
  const samples = starts.map((start) => ({
    attributes: {},
    inputs: [integerData("i64", [start], []), tensor(BigInt64Array.of(1n), [], "i64")],
  }));
  const want = starts.map(
    (start, index) => [`sample${index}.result0`, integerData("i64", [start + 1n], [])] as const,
  );
  return { ...sampleGraph("Add", samples), allowance: () => EXACT, want: Object.fromEntries(want) };
});

export const integerMovementCases: readonly ConformanceCase[] = [
  ...(Object.keys(movers) as Op[]).flatMap((op) => DTYPES.map((dtype) => moverCase(op, dtype))),
  ...constants,
  counters,
];
