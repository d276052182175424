/** Conversions, compared bit by bit. */
import {
  DTYPES,
  type DType,
  type EighthDType,
  type FloatDType,
  floatFormats,
  formatType,
  type Graph,
  GraphBuilder,
  type HostTensor,
  isEighth,
  isFloat,
  tensor,
} from "@mp/graph";
import { EXACT } from "../compare/allowance.js";
import { compareTensors } from "../compare/compare-tensors.js";
import type { ConformanceCase } from "../conformance-case.js";
import { fail } from "../expectations.js";
import { flush, hostData, specialValues, toNumbers } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import { allPatterns, conversionAllowance, convert, ties } from "../samples/rounding.js";
import { graphCase, runGraph } from "./kinds/graph-case.js";
import { scriptedCase } from "./kinds/scripted-case.js";

function castGraph(from: DType, to: DType, shape: readonly number[]): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: from, shape }, "batch");
  return builder.finish({ y: builder.emitOne("Cast", [x], { to }) });
}

/** A cast between floats; every number must be rounded as the manifest declares. */
function floatCast(
  id: string,
  from: FloatDType,
  to: FloatDType,
  data: (random: RandomSource) => HostTensor,
): ConformanceCase {
  const probe = castGraph(from, to, [1]);
  return scriptedCase(id, probe, async (backend, { random, seed }) => {
    const { manifest } = backend;
    const given = data(random);
    const flushes =
      (from === "f32" || from === "f16" || from === "bf16") && manifest.subnormals[from] === "flush";
    const x = flushes ? flush(given) : given;
    const { y } = await runGraph(backend, castGraph(from, to, x.shape), { x });
    const mismatch = compareTensors(y, convert(manifest, x, to), conversionAllowance(manifest, to));
    if (mismatch === undefined) return;
    const at = Number(/^at \[(\d+)\]/.exec(mismatch)?.[1]);
    const source = Number.isNaN(at) ? formatType(x) : `${from} ${hex(x, at)}`;
    fail(`Cast of ${source} to ${to} ${mismatch}; seed ${seed}`);
  });
}

/** The bits of an element in hexadecimal. */
function hex({ dtype, data }: HostTensor, at: number): string {
  const raw = dtype === "f32" ? new Uint32Array(data.buffer, data.byteOffset)[at] : data[at];
  return `0x${(raw ?? 0).toString(16)}`;
}

const NARROW = ["f16", "bf16", "f8e4m3", "f8e5m2"] as const;
const FLOATS = ["f32", ...NARROW] as const;

const everyPattern: readonly ConformanceCase[] = NARROW.flatMap((from) =>
  FLOATS.map((to) => floatCast(`cast/${from}-to-${to}/every-bit-pattern`, from, to, () => allPatterns(from))),
);

const everyTie: readonly ConformanceCase[] = NARROW.flatMap((to) => [
  floatCast(`cast/f32-to-${to}/every-value-and-tie`, "f32", to, () => ties(to)),
  floatCast(`cast/f32-to-${to}/random-bits`, "f32", to, (random) => {
    const bits = Uint32Array.from({ length: 50_000 }, () => random.integer(0, 2 ** 32 - 1));
    return tensor(new Float32Array(bits.buffer));
  }),
]);

const f32 =
  (...numbers: readonly number[]): (() => HostTensor) =>
  () =>
    tensor(Float32Array.from(numbers));

/** One claim per case, so that a failure names the claim that a backend breaks. */
const named: readonly ConformanceCase[] = [
  // 65519 is the last number that still rounds to 65504; loss scales reach this edge first.
  floatCast(
    "cast/f32-to-f16/overflows-from-65520",
    "f32",
    "f16",
    f32(65504, 65519, 65519.99, 65520, 65536, 1e30, -65520),
  ),
  floatCast(
    "cast/f32-to-bf16/overflows-from-the-tie",
    "f32",
    "bf16",
    f32(3.3895313892515355e38, 3.394e38, 3.396e38, 3.4e38, -3.4e38),
  ),
  floatCast(
    "cast/f32-to-f16/subnormals-survive",
    "f32",
    "f16",
    f32(2 ** -15, 2 ** -20, 2 ** -24, 3 * 2 ** -24, -(2 ** -24), 1.5 * 2 ** -24),
  ),
  floatCast(
    "cast/f32-to-f16/underflows-from-the-tie",
    "f32",
    "f16",
    f32(2 ** -25, -(2 ** -25), 2 ** -25 * (1 + 2 ** -20), 1e-8),
  ),
  floatCast(
    "cast/f32-to-f16/ties-go-to-even",
    "f32",
    "f16",
    f32(1 + 2 ** -11, 1 + 3 * 2 ** -11, 2049, 2051, -2049),
  ),
  floatCast(
    "cast/f32-to-bf16/ties-go-to-even",
    "f32",
    "bf16",
    f32(1 + 2 ** -8, 1 + 3 * 2 ** -8, 257, 259, -257),
  ),
  floatCast("cast/f32-to-f16/keeps-the-sign-of-zero", "f32", "f16", f32(-0, 0)),
  floatCast(
    "cast/f32-to-f16/keeps-nan-and-infinity",
    "f32",
    "f16",
    f32(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  ),
  floatCast(
    "cast/f32-to-bf16/keeps-nan-and-infinity",
    "f32",
    "bf16",
    f32(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  ),
  floatCast(
    "cast/f32-to-f8e4m3/does-not-saturate",
    "f32",
    "f8e4m3",
    f32(448, 464, 465, 480, -1e9, Number.POSITIVE_INFINITY),
  ),
  floatCast(
    "cast/f32-to-f8e5m2/does-not-saturate",
    "f32",
    "f8e5m2",
    f32(57344, 61439, 61440, -1e9, Number.POSITIVE_INFINITY),
  ),
  ...(["f16", "bf16"] as const).map((half) =>
    graphCase(`cast/f32-to-${half}/is-not-optimised-away`, () => {
      const builder = new GraphBuilder();
      const x = builder.input("x", { dtype: "f32", shape: [3] }, "batch");
      const narrow = builder.emitOne("Cast", [x], { to: half });
      const y = builder.emitOne("Cast", [narrow], { to: "f32" });
      return {
        graph: builder.finish({ y }),
        inputs: { x: tensor(Float32Array.of(1 / 3, 1e-3, 1 + 2 ** -12)) },
        allowance: () => EXACT,
        describe: () => "a pair of casts to a half and back",
      };
    }),
  ),
];

/** Every value and tie with its neighbors, random numbers of the format's exponents, and any bits. */
function roundedNumbers(to: EighthDType, random: RandomSource): HostTensor {
  const { minExponent, maxExponent, fractionBits } = floatFormats[to];
  const patterns = Uint32Array.from({ length: 40_000 }, (_, index) => {
    const bits = random.integer(0, 2 ** 32 - 1);
    const exponent = random.integer(minExponent - fractionBits - 2, maxExponent + 1) + 127;
    return index % 2 === 0 ? bits : (bits & 0x807fffff) | (exponent << 23);
  });
  const special = [0, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return tensor(
    Float32Array.from([...special, ...toNumbers(ties(to)), ...new Float32Array(patterns.buffer)]),
  );
}

/** Casts to f8 and back in one graph, which an engine may round by other means than its casts. */
const thereAndBack: readonly ConformanceCase[] = (["f8e4m3", "f8e5m2"] as const).flatMap((to) =>
  ["and-back", "and-back-saturated"].map((claim) =>
    graphCase(`cast/f32-to-${to}/${claim}`, ({ random }) => {
      const numbers = roundedNumbers(to, random);
      const builder = new GraphBuilder();
      const x = builder.input("x", numbers, "batch");
      const { maxFinite: max } = floatFormats[to];
      const given = claim === "and-back" ? x : builder.emitOne("Clip", [x], { min: -max, max });
      const codes = builder.emitOne("Cast", [given], { to });
      return {
        graph: builder.finish({ y: builder.emitOne("Cast", [codes], { to: "f32" }) }),
        inputs: { x: numbers },
        allowance: () => EXACT,
        describe: () => `a pair of casts to ${to} and back`,
      };
    }),
  ),
);

/** The numbers of a list that an integer dtype can hold. */
function held(to: DType, numbers: readonly number[]): readonly number[] {
  const range: Readonly<Partial<Record<DType, readonly [number, number]>>> = {
    i32: [-(2 ** 31), 2 ** 31 - 1],
    i64: [-(2 ** 53), 2 ** 53],
    u64: [0, 2 ** 53],
    u8: [0, 255],
  };
  const [low, high] = range[to] ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  return numbers.filter(
    (x) => !(x < low) && !(x > high) && (isFloat(to) || to === "bool" || Number.isFinite(x)),
  );
}

const WHOLE = [
  0,
  1,
  2,
  7,
  100,
  127,
  128,
  255,
  256,
  300,
  2049,
  65535,
  2 ** 24 + 1,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 + 5,
  2 ** 40 + 1,
];
const INTEGER_VALUES: Readonly<Partial<Record<DType, readonly number[]>>> = {
  i32: [...WHOLE.filter((x) => x < 2 ** 31), -1, -2, -128, -129, -2049, -(2 ** 31)],
  i64: [...WHOLE, -1, -2, -129, -(2 ** 31) - 1, -(2 ** 40), 2 ** 53 - 1],
  u64: [...WHOLE, 2 ** 53 - 1],
  u8: [0, 1, 2, 127, 128, 255],
  bool: [0, 1],
};

/** Fractions, which casts to integers truncate. */
const FRACTIONS = [-0, 0, 0.5, -0.5, 0.99, -0.99, 1, 1.5, -1.5, 2.5, -7.9, 100.25, 200];

const RANGES = {
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
  u64: [0n, 2n ** 64n - 1n],
} as const;

/**
 * Integers at the ties of each float format and next to them. A cast through a wider float rounds twice and mistakes
 * the neighbors for ties.
 */
function besideTies(from: keyof typeof RANGES): readonly bigint[] {
  const [low, high] = RANGES[from];
  // 8 bits of bf16, 11 of f16, 24 of f32, and the 53 of f64.
  const ties = [8n, 11n, 24n, 53n].flatMap((bits) =>
    [8n, 11n, 12n, 16n, 18n, 24n, 25n, 30n, 31n, 33n, 40n, 48n, 49n, 54n, 62n, 63n].flatMap((exponent) => {
      if (exponent < bits) return [];
      const [top, half] = [2n ** exponent, 2n ** (exponent - bits)];
      return [top + half, top + 3n * half, 2n * top - half];
    }),
  );
  const around = ties.flatMap((tie) => [tie - 1n, tie, tie + 1n]);
  return [...around, ...around.map((x) => -x), low, low + 1n, high, high - 1n].filter(
    (x) => x >= low && x <= high,
  );
}

const roundedOnce: readonly ConformanceCase[] = (["i32", "i64", "u64"] as const).flatMap((from) =>
  (["f32", "f16", "bf16"] as const).map((to) =>
    graphCase(`cast/${from}-to-${to}/rounds-large-integers-once`, () => {
      const x = hostData(from, besideTies(from));
      return {
        graph: castGraph(from, to, x.shape),
        inputs: { x },
        allowance: () => EXACT,
        describe: (output) => `Cast of ${from} to ${to} ${output}`,
      };
    }),
  ),
);

function sourceValues(from: DType, to: DType): readonly number[] {
  if (!isFloat(from)) return INTEGER_VALUES[from] ?? [];
  if (to === "bool") return specialValues(from);
  return held(to, FRACTIONS);
}

/** Casts between all dtypes except f8, of which one or both are not floats. */
const others: readonly ConformanceCase[] = DTYPES.flatMap((from) =>
  DTYPES.filter((to) => !(isFloat(from) && isFloat(to)) && !isEighth(from) && !isEighth(to)).map((to) =>
    graphCase(`cast/${from}-to-${to}/values`, () => {
      const x = hostData(from, sourceValues(from, to));
      return { graph: castGraph(from, to, x.shape), inputs: { x }, allowance: () => EXACT };
    }),
  ),
);

export const castCases: readonly ConformanceCase[] = [
  ...everyPattern,
  ...everyTie,
  ...thereAndBack,
  ...named,
  ...others,
  ...roundedOnce,
];
