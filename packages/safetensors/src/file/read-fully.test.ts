import { expect, it } from "vitest";
import { type ReadableFile, readFully } from "./read-fully.js";

const content = Uint8Array.from({ length: 50 }, (_, i) => i);

/** A file that gives 7 bytes per call, as a file system may. */
const slow: ReadableFile = {
  async read(into, offset, length, position) {
    const piece = content.subarray(position, position + Math.min(length, 7));
    into.set(piece, offset);
    return { bytesRead: piece.length };
  },
};

it("goes on after short reads, where it stopped", async () => {
  const buffer = new ArrayBuffer(30);
  await readFully(slow, buffer, 11, undefined);
  expect(new Uint8Array(buffer)).toEqual(content.slice(11, 41));
});

it("reports a file that ended early", async () => {
  await expect(readFully(slow, new ArrayBuffer(30), 30, undefined)).rejects.toMatchObject({
    code: "SAFETENSORS_PARSE",
    details: { problem: "data-missing", fileLength: 50 },
  });
});

it("stops at an abort between reads", async () => {
  const controller = new AbortController();
  const aborting: ReadableFile = {
    async read(into, offset, length, position) {
      controller.abort("why");
      return slow.read(into, offset, length, position);
    },
  };
  await expect(readFully(aborting, new ArrayBuffer(30), 0, controller.signal)).rejects.toBe("why");
});
