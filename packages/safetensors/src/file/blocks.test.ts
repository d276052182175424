import fc from "fast-check";
import { expect, it } from "vitest";
import { BLOCK_BYTES, mergeSmallChunks } from "./blocks.js";
import { FileWindow } from "./file-window.js";
import type { ReadableFile } from "./read-fully.js";

const sizes = fc.array(
  fc.oneof(fc.nat(40), fc.integer({ min: 60_000, max: 70_000 }), fc.constant(BLOCK_BYTES)),
  {
    maxLength: 40,
  },
);

/** Chunks of the given sizes, with consecutive byte values. */
function chunksOf(lengths: readonly number[]): readonly Uint8Array[] {
  let next = 0;
  return lengths.map((length) => Uint8Array.from({ length }, () => next++ % 251));
}

it("gives the same bytes in blocks, each of its own memory", () => {
  fc.assert(
    fc.property(sizes, (lengths) => {
      const chunks = chunksOf(lengths);
      const blocks = [...mergeSmallChunks(chunks)];
      expect(Buffer.concat(blocks).equals(Buffer.concat(chunks))).toBe(true);
      expect(blocks.every(({ length }) => length <= BLOCK_BYTES)).toBe(true);
    }),
    { numRuns: 40 },
  );
});

it("gives 200 000 scalars in one block", () => {
  expect([...mergeSmallChunks(chunksOf(new Array(200_000).fill(4)))]).toHaveLength(1);
});

it("reads ranges in any order, and 200 000 scalars in one call", async () => {
  const content = Uint8Array.from({ length: 3 * BLOCK_BYTES + 7 }, (_, i) => i % 251);
  let calls = 0;
  const file: ReadableFile = {
    async read(into, offset, length, position) {
      calls++;
      const piece = content.subarray(position, position + Math.min(length, 300_000));
      into.set(piece, offset);
      return { bytesRead: piece.length };
    },
  };
  const window = new FileWindow(file, content.length, undefined);
  const begins = fc.nat(content.length);
  await fc.assert(
    fc.asyncProperty(begins, fc.oneof(fc.nat(20), fc.nat(2 * BLOCK_BYTES)), async (begin, length) => {
      const end = Math.min(begin + length, content.length);
      const into = new Uint8Array(end - begin);
      await window.read(into, begin);
      expect(Buffer.from(into).equals(Buffer.from(content.subarray(begin, end)))).toBe(true);
    }),
  );
  calls = 0;
  const fresh = new FileWindow(file, content.length, undefined);
  for (let i = 0; i < 200_000; i++) await fresh.read(new Uint8Array(4), 4 * i);
  expect(calls).toBeLessThanOrEqual(4);
});
