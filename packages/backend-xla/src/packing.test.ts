import { type DType, type HostTensor, tensor, type ValueType } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { Packing, SMALL_BYTES } from "./packing.js";

const type = (dtype: DType, ...shape: readonly number[]): ValueType => ({ dtype, shape });
const f32 = (...numbers: readonly number[]): HostTensor =>
  tensor(Float32Array.from(numbers), [numbers.length]);

/** Packs values whose names are their indices. */
const packed = (...types: readonly ValueType[]): Packing<number> => new Packing(types.entries());

describe("Packing", () => {
  it("joins small values of one dtype, and leaves large and lone ones as they are", () => {
    const packing = packed(
      type("f32", 2),
      type("i32"),
      type("f32", SMALL_BYTES / 4 + 1),
      type("f32", 3, 2),
      type("f32", 0),
      type("bool", 2, 2),
    );
    expect(packing.buffers).toEqual([
      { type: type("f32", 8), members: [0, 3, 4] },
      { type: type("i32"), members: [1] },
      { type: type("f32", SMALL_BYTES / 4 + 1), members: [2] },
      { type: type("bool", 2, 2), members: [5] },
    ]);
    expect([0, 1, 2, 3, 4, 5].map((name) => packing.locationOf(name))).toEqual([
      { buffer: 0, offset: 0 },
      { buffer: 1, offset: undefined },
      { buffer: 2, offset: undefined },
      { buffer: 0, offset: 2 },
      { buffer: 0, offset: 8 },
      { buffer: 3, offset: undefined },
    ]);
  });

  it("begins another buffer after 64 values", () => {
    const packing = packed(...Array.from({ length: 130 }, () => type("f32")));
    expect(packing.buffers.map(({ members }) => members.length)).toEqual([64, 64, 2]);
  });

  it("joins values and takes them apart again, over the contents from before where one is missing", () => {
    const packing = packed(type("f32", 2), type("f32", 1), type("f32", 3));
    const values = [f32(1, 2), f32(3), f32(4, 5, 6)];
    const joined = packing.join(0, (index) => values[index]);
    expect(joined).toEqual({ ...type("f32", 6), data: Float32Array.of(1, 2, 3, 4, 5, 6) });
    expect(values.map((_, index) => packing.part(index, () => joined))).toEqual(values);
    const changed = packing.join(0, (index) => (index === 1 ? f32(9) : undefined), joined);
    expect([...changed.data]).toEqual([1, 2, 9, 4, 5, 6]);
    expect(joined.data[2]).toBe(3);
  });

  it("keeps bits that a number would lose", () => {
    const packing = packed(type("i64", 1), type("i64", 1));
    const values = [2n ** 60n + 1n, -1n].map((value) => tensor(BigInt64Array.of(value), [1]));
    const joined = packing.join(0, (index) => values[index]);
    expect(packing.part(0, () => joined)).toEqual(values[0]);
  });
});
