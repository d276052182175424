// Tables of a dynamic size, such as arange(batch). Elements that stay the same along an open axis, or grow
// along it by a step that is the same at every traced size, are computed from the size at run time.
import { type DType, elementCount, type HostTensor, type Shape, stridesOf } from "@mp/graph";
import { literals } from "../literals.js";

/** The part of a table that grows linearly along an open axis. */
export interface CountedAxis {
  readonly axis: number;
  /** How much each element of the base grows per index along the axis; 0 for elements that stay the same. */
  readonly step: HostTensor;
}

/** A table with open sizes. An element is its base + Σ (index along a counted axis · step of that axis). */
export interface CountedTable {
  /** The elements at index 0 of all open axes; these axes have size 1 here. */
  readonly base: HostTensor;
  /** The open axes along which the elements change. */
  readonly counted: readonly CountedAxis[];
}

/** Below this bound, integers and their sums are exact in f32. */
const EXACT = 2 ** 24;

type Numbers = ArrayLike<number | bigint>;

/**
 * Finds the rule of a table from its traces at several sizes of `axes`; undefined if there is none. A table
 * with elements that are not integers must be constant along these axes.
 */
export function tableRule(tables: readonly HostTensor[], axes: readonly number[]): CountedTable | undefined {
  const [first] = tables;
  if (first === undefined || axes.some((axis) => tables.some(({ shape }) => (shape[axis] ?? 0) < 2)))
    return undefined;
  const baseShape = first.shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  const at = (table: HostTensor, place: readonly number[], axis?: number): number | bigint =>
    (table.data as Numbers)[
      elementIndex(
        table.shape,
        place.map((index, each) => (each === axis ? 1 : index)),
      )
    ] as number | bigint;
  const places = allPlaces(baseShape);
  const base = places.map((place) => at(first, place));
  const steps = axes.map((axis) =>
    places.map((place, index) => difference(at(first, place, axis), base[index] as number | bigint)),
  );
  const changing = steps.map((step) => step.some((each) => Number(each) !== 0));
  if (changing.includes(true) && !isCountable(first.dtype, [...base, ...steps.flat()])) return undefined;
  const valueAt = (place: readonly number[]): number | bigint => {
    const index = elementIndex(
      baseShape,
      place.map((each, axis) => (axes.includes(axis) ? 0 : each)),
    );
    return steps.reduce<number | bigint>(
      (sum, step, which) =>
        changing[which] ? plus(sum, step[index] as number | bigint, place[axes[which] as number] ?? 0) : sum,
      base[index] as number | bigint,
    );
  };
  const holds = tables.every(({ shape, data, dtype }) => {
    if (dtype !== first.dtype) return false;
    return allPlaces(shape).every((place, index) => Object.is((data as Numbers)[index], valueAt(place)));
  });
  if (!holds) return undefined;
  const counted = axes.flatMap((axis, which) =>
    changing[which]
      ? [{ axis, step: literals((steps[which] as number[]).map(Number), "i64", baseShape) }]
      : [],
  );
  return { base: { ...first, shape: baseShape, data: sameKind(first, base) } as HostTensor, counted };
}

function isCountable(dtype: DType, values: readonly (number | bigint)[]): boolean {
  if (dtype === "i32" || dtype === "i64") return values.every((value) => Number.isSafeInteger(Number(value)));
  if (dtype !== "f32") return false;
  return values.every(
    (value) => Number.isInteger(value) && Math.abs(Number(value)) < EXACT && !Object.is(value, -0),
  );
}

const difference = (a: number | bigint, b: number | bigint): number | bigint =>
  typeof a === "bigint" && typeof b === "bigint" ? a - b : Number(a) - Number(b);

const plus = (sum: number | bigint, step: number | bigint, count: number): number | bigint =>
  typeof sum === "bigint" ? sum + BigInt(step) * BigInt(count) : sum + Number(step) * count;

function sameKind({ data }: HostTensor, values: readonly (number | bigint)[]): HostTensor["data"] {
  const copy = data.slice(0, values.length);
  values.forEach((value, index) => {
    (copy as unknown as (number | bigint)[])[index] = value;
  });
  return copy;
}

function elementIndex(shape: Shape, place: readonly number[]): number {
  return stridesOf(shape).reduce((offset, stride, axis) => offset + stride * (place[axis] ?? 0), 0);
}

/** The indices of all elements of a shape; the last axis changes fastest. */
function allPlaces(shape: Shape): readonly (readonly number[])[] {
  const strides = stridesOf(shape);
  return Array.from({ length: elementCount(shape, "a table") }, (_, index) =>
    strides.map((stride, axis) => Math.floor(index / stride) % (shape[axis] as number)),
  );
}
