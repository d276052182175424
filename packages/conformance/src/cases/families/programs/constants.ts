/** Programs that differ in one element of a constant, at sizes for which engines store constants differently. */
import {
  type BackendManifest,
  type DType,
  floatFormats,
  type Graph,
  GraphBuilder,
  type HostTensor,
  isFloat,
  tensor,
} from "@mp/graph";
import type { ConformanceCase } from "../../../conformance-case.js";
import { fresh } from "../../../fresh.js";
import { hostData } from "../../../host-data.js";
import { randomBits } from "../../../random-bits-of.js";
import type { RandomSource } from "../../../random-source.js";
import { countUp } from "../../../samples/op-sample.js";
import { holdable } from "../../../short-integers.js";
import { valueType } from "../../../small-graphs.js";
import { familyCase, type Program } from "./expect-apart.js";

/** Numbers of elements that take a few bytes, more than 4 KiB, and more than 64 KiB. */
const LENGTHS: Readonly<Partial<Record<DType, readonly number[]>>> = {
  f32: [5, 4_200, 66_000],
  f16: [5, 4_200, 66_000],
  i64: [5, 4_200],
  bool: [5, 4_200],
};

/** Concatenates x and the constant, so that the result shows every bit of the constant. */
function appending(value: HostTensor): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", valueType(value.dtype, 2), "batch");
  return builder.finish({ y: builder.emitOne("Concat", [x, builder.constant(value)], { axis: 0 }) });
}

const viewBytes = ({ data }: HostTensor): Uint8Array => new Uint8Array(data.buffer);

/** Small whole numbers for floats, since among random bits a flipped bit may belong to a NaN and make no difference. */
const moderate = (random: RandomSource, dtype: DType, length: number): HostTensor =>
  dtype === "f32" || dtype === "f16"
    ? hostData(
        dtype,
        Array.from({ length }, () => random.integer(1, 1_000)),
      )
    : randomBits({ random, dtype }, [length]);

/** Flips the lowest bit of one element. */
function flipBit(value: HostTensor, place: number): HostTensor {
  const changed = fresh(value);
  const at = place * changed.data.BYTES_PER_ELEMENT;
  const bytes = viewBytes(changed);
  bytes[at] = (bytes[at] as number) ^ 1;
  return changed;
}

/** Exchanges an element with the next one, so that the sum over all elements stays the same. */
function swapNeighbors(value: HostTensor, place: number): HostTensor {
  const changed = fresh(value);
  const size = changed.data.BYTES_PER_ELEMENT;
  const [start, bytes] = [place * size, viewBytes(changed)];
  const first = bytes.slice(start, start + size);
  bytes.copyWithin(start, start + size, start + 2 * size);
  bytes.set(first, start + size);
  return changed;
}

function constantsLike(
  random: RandomSource,
  dtype: DType,
  length: number,
): readonly (readonly [string, HostTensor])[] {
  const value = moderate(random, dtype, length);
  const places = [0, 1, random.integer(2, length - 2), length >> 1, length - 2, length - 1];
  return [
    ["a constant as it is", value],
    ...[...new Set(places)].map((at) => [`element ${at} of ${length} changed`, flipBit(value, at)] as const),
    ["its first two elements exchanged", swapNeighbors(value, 0)],
    ["its last two elements exchanged", swapNeighbors(value, length - 2)],
  ];
}

/** Numbers that may look the same when a graph is written as text. */
function edgeConstants(dtype: DType): readonly (readonly [string, HostTensor])[] {
  if (!isFloat(dtype)) {
    const large =
      dtype === "i64" ? [2n ** 53n, 2n ** 53n + 1n, 2n ** 62n, -(2n ** 63n), -1n, 2n ** 32n] : [0n, 1n];
    return large.map((x) => [`a constant of ${x}`, hostData(dtype, [x])]);
  }
  const { minNormal, maxFinite, fractionBits } = floatFormats[dtype];
  const ulp = 2 ** -fractionBits;
  const numbers = [0, -0, 1, 1 + ulp, 1 - ulp / 2, -1, minNormal, 2 * minNormal, maxFinite];
  return [...numbers, -maxFinite, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN].map((x) => [
    `a constant of ${Object.is(x, -0) ? "-0" : x}`,
    hostData(dtype, [x]),
  ]);
}

/** The same bytes as constants of different dtypes and shapes. */
function byteViews(random: RandomSource): readonly (readonly [string, HostTensor])[] {
  const words = randomBits({ random, dtype: "u64" }, [6]).data as BigUint64Array;
  const halves = Uint16Array.from({ length: 24 }, () => random.integer(1, 0x7000));
  return [
    ["a constant of f16", { dtype: "f16", shape: [24], data: halves }],
    ["the same bytes as bf16", { dtype: "bf16", shape: [24], data: halves.slice() }],
    ["a constant of u64", tensor(words.slice(), [6], "u64")],
    ["the same bytes as i64", tensor(new BigInt64Array(words.slice().buffer), [6], "i64")],
    ["the same bytes as i32", tensor(new Int32Array(words.slice().buffer), [12])],
    ["the same bytes as u8", tensor(new Uint8Array(words.slice().buffer), [48], "u8")],
  ];
}

function constantPrograms(
  constants: readonly (readonly [string, HostTensor])[],
  manifest: BackendManifest,
): readonly Program[] {
  return constants.map(([what, value]) => ({
    what,
    graph: appending(holdable(value, manifest)),
    inputs: { x: countUp(value.dtype, [2]) },
  }));
}

const elements: readonly ConformanceCase[] = (Object.keys(LENGTHS) as DType[]).flatMap((dtype) =>
  (LENGTHS[dtype] ?? []).map((length) =>
    familyCase(
      `program/constant-${dtype}/one-of-${length}-elements`,
      () => [appending(countUp(dtype, [1]))],
      ({ random, manifest }) => constantPrograms(constantsLike(random, dtype, length), manifest),
    ),
  ),
);

const edges: readonly ConformanceCase[] = (["f32", "f16", "bf16", "i64"] as const).map((dtype) =>
  familyCase(
    `program/constant-${dtype}/numbers-that-look-alike`,
    () => [appending(countUp(dtype, [1]))],
    ({ manifest }) => constantPrograms(edgeConstants(dtype), manifest),
  ),
);

const views = familyCase(
  "program/constant-bytes/in-other-dtypes",
  () => (["f16", "bf16", "u64", "i64", "i32", "u8"] as const).map((dtype) => appending(countUp(dtype, [1]))),
  ({ random, manifest }) => constantPrograms(byteViews(random), manifest),
);

export const constantCases: readonly ConformanceCase[] = [...elements, ...edges, views];
