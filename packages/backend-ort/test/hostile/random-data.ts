/** Tensors for hostile nodes: the extremes of every range, empty axes, sizes around a vector's. */
import {
  type DType,
  elementCount,
  encode,
  type HostTensor,
  hostArrayOf,
  isFloat,
  type Shape,
} from "@mp/graph";
import fc from "fast-check";

/** Sizes of an axis: mostly small, sometimes 0, or more than a vector register holds. */
export const size: fc.Arbitrary<number> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 4 }) },
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.constantFrom(8, 16, 17, 33, 67) },
);

const LARGEST = 4096;

export const shapeOf = (ranks: { readonly min?: number; readonly max?: number } = {}): fc.Arbitrary<Shape> =>
  fc
    .array(size, { minLength: ranks.min ?? 0, maxLength: ranks.max ?? 4 })
    .filter((shape) => elementCount(shape, "test") <= LARGEST);

const EXTREMES: Readonly<Partial<Record<DType, readonly bigint[]>>> = {
  i32: [-(2n ** 31n), -(2n ** 31n) + 1n, 2n ** 31n - 1n, 2n ** 24n + 1n, -1n, 0n, 1n],
  i64: [
    -(2n ** 63n), -(2n ** 63n) + 1n, 2n ** 63n - 1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 32n, 2n ** 31n,
    -(2n ** 31n) - 1n, -(2n ** 32n), -1n, 0n, 1n,
  ],
  u64: [2n ** 64n - 1n, 2n ** 63n, 2n ** 63n - 1n, 2n ** 53n + 1n, 2n ** 32n, 2n ** 31n, 0n, 1n],
  u8: [0n, 1n, 127n, 128n, 255n],
  bool: [0n, 1n],
}; // biome-ignore format: one list a dtype

/** Multiples of 0.5 that any float holds, of mixed sign, so that sums and products are the same in any order. */
const TAME = [-2, -1, -0.5, 0, 0.5, 1, 2, 3] as const;

function element(dtype: DType): fc.Arbitrary<bigint | number> {
  if (isFloat(dtype)) return fc.constantFrom(...TAME);
  const extremes = EXTREMES[dtype] ?? [];
  const small = dtype === "bool" ? 1 : 9;
  return fc.oneof(fc.constantFrom(...extremes), fc.nat({ max: small }).map(BigInt));
}

/** A tensor whose elements are drawn one by one, or all the same. */
export function values(dtype: DType, shape: Shape): fc.Arbitrary<HostTensor> {
  const count = elementCount(shape, "test");
  const drawn = fc.oneof(
    fc.array(element(dtype), { minLength: count, maxLength: count, size: "max" }),
    element(dtype).map((value) => new Array<bigint | number>(count).fill(value)),
  );
  return drawn.map((elements) => tensorOf(dtype, shape, elements));
}

function tensorOf(dtype: DType, shape: Shape, elements: readonly (bigint | number)[]): HostTensor {
  const data = new hostArrayOf[dtype](elements.length);
  elements.forEach((value, at) => {
    if (data instanceof BigInt64Array || data instanceof BigUint64Array) data[at] = BigInt(value);
    else data[at] = isFloat(dtype) && dtype !== "f32" ? encode(dtype, Number(value)) : Number(value);
  });
  return { dtype, shape, data } as HostTensor;
}

/** Indices of an axis, counted from either end; sometimes one outside. */
export function indices(shape: Shape, axisSize: number): fc.Arbitrary<HostTensor> {
  const count = elementCount(shape, "test");
  const inside = axisSize === 0 ? fc.constant(0) : fc.integer({ min: -axisSize, max: axisSize - 1 });
  const outside = fc.constantFrom(axisSize, -axisSize - 1, 2 ** 31 - 1, -(2 ** 31));
  const each = (index: fc.Arbitrary<number>): fc.Arbitrary<readonly number[]> =>
    fc.array(index, { minLength: count, maxLength: count, size: "max" });
  return fc
    .oneof(
      { weight: 9, arbitrary: each(inside) },
      {
        weight: 1,
        arbitrary: each(fc.oneof({ weight: 5, arbitrary: inside }, { weight: 1, arbitrary: outside })),
      },
    )
    .map((drawn) => tensorOf("i32", shape, drawn));
}
