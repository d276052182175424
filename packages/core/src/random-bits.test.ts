import { describe, expect, it } from "vitest";
import { evaluateOp } from "../test/evaluate-op.js";
import { tensor } from "./host/host-tensor.js";
import { randomBits } from "./random-bits.js";
import { squares32, squaresKey } from "./trace/random/squares.js";

const KEYS = [squaresKey("dropout#0"), squaresKey("42/a"), 1n, 2n ** 64n - 1n, 0x548c9decbce65297n];
const COUNTERS = [0n, 1n, 2n ** 32n - 2n, 5n << 32n, 2n ** 63n, 2n ** 64n - 3n];

describe("random bits", () => {
  it("agree with the generator written in 64-bit integers, across every carry", () => {
    for (const key of KEYS) {
      for (const counter of COUNTERS) {
        const want = Array.from({ length: 8 }, (_, index) =>
          BigInt(squares32((counter + BigInt(index)) & (2n ** 64n - 1n), key)),
        );
        expect([...randomBits(counter, key, 8)], `${key} at ${counter}`).toEqual(want);
      }
    }
  });

  it("come from the op as u64 below 2^32, in row-major order", () => {
    const key = squaresKey("op");
    const counter = tensor(BigUint64Array.of(7n << 32n), [], "u64");
    const [bits] = evaluateOp("RandomBits", [counter], { key, shape: [3, 2] });
    expect(bits?.shape).toEqual([3, 2]);
    expect(Array.from(bits?.data as BigUint64Array, Number)).toEqual(
      [0, 1, 2, 3, 4, 5].map((index) => squares32((7n << 32n) + BigInt(index), key)),
    );
  });
});
