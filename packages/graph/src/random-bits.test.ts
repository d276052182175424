import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { evaluateOp } from "../test/evaluate-op.js";
import { tensor } from "./host/host-tensor.js";
import { randomBits } from "./random-bits.js";
import { squares32, squaresKey } from "./trace/random/squares.js";

const KEYS = [squaresKey("dropout#0"), squaresKey("42/a"), 1n, 2n ** 64n - 1n, 0x548c9decbce65297n];
const DRAWN = [0, 1, 7, 2 ** 16 - 1, 2 ** 16, 2 ** 31 - 1, -1];
const at = (drawn: number, index: number): bigint =>
  BigInt.asUintN(64, (BigInt(drawn) << 32n) + BigInt(index));

describe("random bits", () => {
  it("agree with the generator written in 64-bit integers, across every carry", () => {
    const all = createHash("sha256");
    for (const key of KEYS) {
      for (const drawn of DRAWN) {
        const got = randomBits(drawn, key, 70_000);
        const want = Int32Array.from({ length: 1000 }, (_, index) => squares32(at(drawn, index), key));
        expect(got.subarray(0, 1000), `${key} after ${drawn}`).toEqual(want);
        all.update(got);
      }
    }
    // The digest of all 70 000 numbers by `squares32`, which takes seconds.
    expect(all.digest("hex")).toBe("5d5577378ff79f586358e8dafac17d7514f5c10fe91d3894f918f9c86a3af5ce");
  });

  it("come from the op as i32, in row-major order", () => {
    const key = squaresKey("op");
    const [bits] = evaluateOp("RandomBits", [tensor(Int32Array.of(7), [])], { key, shape: [3, 2] });
    expect(bits?.shape).toEqual([3, 2]);
    expect(bits?.data).toEqual(Int32Array.from({ length: 6 }, (_, index) => squares32(at(7, index), key)));
  });
});
