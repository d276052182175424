/** Casts of large integers: to floats with one rounding, to other integers by their low bits, and from floats. */
import { type ComputeDType, floatFormats, type HostTensor } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { hostData } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import {
  drawIntegers,
  edges,
  holds,
  INTEGER_DTYPES,
  type IntegerDType,
  integerData,
  integerTies,
  roundInteger,
  wrap,
} from "../../samples/integers.js";
import { conversionAllowance } from "../../samples/rounding.js";
import { buildGraph } from "../../small-graphs.js";
import { graphCase } from "../kinds/graph-case.js";
import { integerCase } from "./integer-case.js";

const FLOATS: readonly ComputeDType[] = ["f32", "f16", "bf16"];

function toFloat(from: IntegerDType, to: ComputeDType): ConformanceCase {
  return graphCase(`integer/Cast-${from}-to-${to}/rounds-once`, ({ random }) => {
    const { maxFinite } = floatFormats[to];
    const values = [...edges(from), ...integerTies(from, to), ...drawIntegers(random, from, 300)].filter(
      (x) => Math.abs(roundInteger(to, x)) <= maxFinite,
    );
    const graph = buildGraph({
      inputs: { x: { dtype: from, shape: [values.length] } },
      outputs: (builder, { x }) => ({ y: builder.emitOne("Cast", x === undefined ? [] : [x], { to }) }),
    });
    return {
      graph,
      inputs: { x: integerData(from, values) },
      want: {
        y: hostData(
          to,
          values.map((x) => roundInteger(to, x)),
        ),
      },
      allowance: (manifest) => ({ ...conversionAllowance(manifest, to), signedZero: false }),
      describe: () => `Cast of ${from} to ${to},`,
    };
  });
}

const floats: readonly ConformanceCase[] = INTEGER_DTYPES.flatMap((from) =>
  FLOATS.map((to) => toFloat(from, to)),
);

const integers: readonly ConformanceCase[] = INTEGER_DTYPES.flatMap((from) =>
  INTEGER_DTYPES.filter((to) => to !== from).map((to) =>
    integerCase(`integer/Cast-${from}-to-${to}/keeps-the-low-bits`, "Cast", (random) => {
      const values = [...edges(from), ...drawIntegers(random, from, 100)];
      const low = values.map((x) => wrap(to, x));
      return [{ attributes: { to }, inputs: [integerData(from, values)], want: [integerData(to, low)] }];
    }),
  ),
);

/** Casts to bool, also of 2^32 and 2^63, which have no bit set in their low words. */
const bools: readonly ConformanceCase[] = INTEGER_DTYPES.map((from) =>
  integerCase(`integer/Cast-${from}-to-bool/asks-every-bit`, "Cast", () => {
    const values = edges(from);
    const answers = values.map((x) => (x === 0n ? 0 : 1));
    return [
      { attributes: { to: "bool" }, inputs: [integerData(from, values)], want: [hostData("bool", answers)] },
    ];
  }),
);

/**
 * Numbers of a float format whose integer part fits the integer dtype: fractions, the largest number, and numbers in
 * between.
 */
function wholeParts(random: RandomSource, from: ComputeDType, to: IntegerDType): readonly number[] {
  const numbers = [0.5, -0.5, 1.5, -1.5, 2.75, 255.5];
  for (let power = 4; power <= 64; power++) {
    const { fractionBits } = floatFormats[from];
    const step = 2 ** (power - 1 - fractionBits);
    numbers.push(2 ** power, 2 ** power - step, 2 ** (power - 1) * (1 + random.next()));
  }
  return [...numbers, ...numbers.map((x) => -x)]
    .map((x) => Number(roundDown(from, x)))
    .filter((x) => Number.isFinite(x) && holds(to, BigInt(Math.trunc(x))));
}

/** Rounds toward zero to a number of the format. */
function roundDown(dtype: ComputeDType, x: number): number {
  const { fractionBits, maxFinite } = floatFormats[dtype];
  if (x === 0) return 0;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(x))) - fractionBits);
  const near = Math.trunc(x / unit) * unit;
  return Math.abs(near) > maxFinite ? Number.NaN : near;
}

const integerParts = (to: IntegerDType, numbers: readonly number[]): HostTensor =>
  integerData(
    to,
    numbers.map((x) => BigInt(Math.trunc(x))),
  );

const fromFloats: readonly ConformanceCase[] = FLOATS.flatMap((from) =>
  INTEGER_DTYPES.map((to) =>
    integerCase(`integer/Cast-${from}-to-${to}/up-to-the-largest`, "Cast", (random) => {
      const numbers = wholeParts(random, from, to);
      return [{ attributes: { to }, inputs: [hostData(from, numbers)], want: [integerParts(to, numbers)] }];
    }),
  ),
);

export const integerCastCases: readonly ConformanceCase[] = [...floats, ...integers, ...bools, ...fromFloats];
