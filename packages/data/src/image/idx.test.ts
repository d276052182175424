import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { MpError } from "@mp/core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readIdx } from "./idx.js";
import { mnist } from "./mnist.js";
import { readImages } from "./read-images.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-idx-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** The bytes of a file with this type code and shape. */
function idx(code: number, shape: readonly number[], elements: Uint8Array): Buffer {
  const header = Buffer.alloc(4 + 4 * shape.length);
  header[2] = code;
  header[3] = shape.length;
  for (const [axis, size] of shape.entries()) header.writeUInt32BE(size, 4 + 4 * axis);
  return Buffer.concat([header, elements]);
}

async function fileOf(bytes: Uint8Array, name = "file"): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

/** The error for these bytes, which names the place. */
async function refused(bytes: Uint8Array): Promise<MpError> {
  const path = await fileOf(bytes);
  const error = await readIdx(path).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!MpError.is(error)) throw new Error(`expected an MpError, got ${String(error)}`);
  expect(error.message).toContain(path);
  return error;
}

describe("readIdx", () => {
  it("reads bytes, integers and floats in the shape that the file says, gzipped or not", async () => {
    const bytes = idx(8, [2, 3], Uint8Array.of(1, 2, 3, 4, 5, 255));
    const wanted = { dtype: "u8", shape: [2, 3], data: Uint8Array.of(1, 2, 3, 4, 5, 255) };
    expect(await readIdx(await fileOf(bytes))).toEqual(wanted);
    expect(await readIdx(await fileOf(gzipSync(bytes)))).toEqual(wanted);
    const integers = idx(12, [2], Uint8Array.of(0, 0, 1, 0, 255, 255, 255, 254));
    expect((await readIdx(await fileOf(integers))).data).toEqual(Int32Array.of(256, -2));
    const floats = idx(13, [1], Uint8Array.of(0x3f, 0xc0, 0, 0));
    expect((await readIdx(await fileOf(floats))).data).toEqual(Float32Array.of(1.5));
  });

  it("refuses a wrong magic number, telling what it is", async () => {
    const error = await refused(Buffer.from("PK\u0003\u0004 zip"));
    expect(error.code).toBe("MP_PARSE");
    expect(error.message).toContain("50 4b 03 04");
    expect((await refused(idx(14, [1], new Uint8Array(8)))).code).toBe("MP_PARSE");
    expect((await refused(idx(8, [], new Uint8Array(1)))).code).toBe("MP_PARSE");
  });

  it("refuses what is cut off at any byte, and what goes on", async () => {
    const whole = idx(8, [3, 2], Uint8Array.of(1, 2, 3, 4, 5, 6));
    for (let length = 0; length < whole.length; length++) {
      expect((await refused(whole.subarray(0, length))).code).toBe("MP_PARSE");
    }
    const longer = await refused(Buffer.concat([whole, Buffer.of(7)]));
    expect(longer.details).toMatchObject({ offset: whole.length });
    const cutGzip = gzipSync(whole).subarray(0, 20);
    expect((await refused(cutGzip)).message).toMatch(/not a valid gzip file/);
  });

  it("allocates nothing for sizes that the file cannot have", async () => {
    const before = process.memoryUsage().arrayBuffers;
    const huge = idx(8, [2 ** 31 - 1, 255, 255], new Uint8Array(100));
    expect((await refused(huge)).message).toMatch(/claims \d+ bytes, the most is/);
    const large = idx(8, [2 ** 30], new Uint8Array(100));
    expect((await refused(large)).message).toMatch(/cannot have more than 108/);
    expect((await refused(gzipSync(large))).message).toMatch(/cannot have more than/);
    expect((await refused(idx(8, [5, 0], new Uint8Array(0)))).details).toMatchObject({ offset: 8 });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 24);
  });

  it("refuses or reads any bytes, and never fails otherwise", async () => {
    const anyHeader = fc.tuple(
      fc.constantFrom(0, 31),
      fc.constantFrom(0, 139),
      fc.constantFrom(8, 12, 9),
      fc.integer({ min: 0, max: 3 }),
    );
    await fc.assert(
      fc.asyncProperty(anyHeader, fc.uint8Array({ maxLength: 40 }), async (head, rest) => {
        const path = await fileOf(Uint8Array.of(...head, ...rest), "any");
        const outcome = await readIdx(path).catch((error: unknown) => error);
        if (outcome instanceof Error) expect(MpError.is(outcome, "MP_PARSE")).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  it("tells a missing file from a damaged one", async () => {
    await expect(readIdx(join(folder, "nowhere"))).rejects.toMatchObject({ code: "MP_IO" });
  });
});

describe("mnist", () => {
  const images = (count: number): Buffer =>
    idx(
      8,
      [count, 2, 2],
      Uint8Array.from({ length: 4 * count }, (_, index) => index),
    );
  const labels = (...values: number[]): Buffer => idx(8, [values.length], Uint8Array.from(values));

  it("reads the four files, whichever of them are gzipped, and is found by readImages", async () => {
    await fileOf(gzipSync(images(3)), "train-images-idx3-ubyte.gz");
    await fileOf(labels(7, 0, 9), "train-labels.idx1-ubyte");
    await fileOf(images(1), "t10k-images-idx3-ubyte");
    await fileOf(gzipSync(labels(4)), "t10k-labels-idx1-ubyte.gz");
    const { train, test, classes } = await mnist(folder);
    expect(train.x.shape).toEqual([3, 1, 2, 2]);
    expect([...train.x.data.subarray(4, 8)]).toEqual([4, 5, 6, 7]);
    expect([...train.y.data]).toEqual([7, 0, 9]);
    expect([...test.y.data]).toEqual([4]);
    expect(classes[9]).toBe("9");
    expect(await readImages(folder, { height: 9, width: 9 })).toEqual({ train, test, classes });
  });

  it("reads images that are not square, and refuses a test of another size", async () => {
    const wide = (count: number, width: number) =>
      idx(8, [count, 2, width], new Uint8Array(2 * width * count));
    const names = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte"];
    const place = await mkdtemp(join(folder, "wide-"));
    const store = (name: string, bytes: Uint8Array) => writeFile(join(place, name), bytes);
    await store(names[0] as string, wide(2, 5));
    await store(names[1] as string, labels(3, 1));
    await store(names[2] as string, wide(1, 5));
    await store("t10k-labels-idx1-ubyte", labels(2));
    const { train, test } = await mnist(place);
    expect([train.x.shape, test.x.shape]).toEqual([
      [2, 1, 2, 5],
      [1, 1, 2, 5],
    ]);
    await store(names[2] as string, wide(1, 4));
    await expect(mnist(place)).rejects.toThrow(/learn from are \[2, 5\] and those of the test \[2, 4\]/);
  });

  it("refuses labels of another set and labels beyond 9", async () => {
    await fileOf(labels(1, 2), "train-labels.idx1-ubyte");
    await expect(mnist(folder)).rejects.toThrow(/2 labels for 3 images/);
    await fileOf(labels(1, 10, 2), "train-labels.idx1-ubyte");
    await expect(mnist(folder)).rejects.toThrow(/label 10 at byte 9/);
    await fileOf(images(3), "train-labels.idx1-ubyte");
    await expect(mnist(folder)).rejects.toThrow(/expected bytes of rank 1/);
    await rm(join(folder, "train-labels.idx1-ubyte"));
    await expect(mnist(folder)).rejects.toMatchObject({ code: "MP_IO" });
  });
});
