import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { randomOf, seed } from "../../test/soak/size.js";
import { SafetensorsError } from "../errors.js";
import { parse } from "../parse.js";
import { load, save } from "../save.js";
import { serialize } from "../serialize.js";
import type { LoadedTensors, WritableTensor } from "../tensor.js";
import { loadFile, saveFile } from "./tensor-file.js";

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "safetensors-hash-"));
  path = join(directory, "step.safetensors");
});
afterEach(() => rm(directory, { recursive: true }));

const ONE_AND_MINUS_TWO: WritableTensor = { dtype: "F32", shape: [2], data: Float32Array.of(1, -2) };
const ZERO: WritableTensor = { dtype: "F32", shape: [1], data: new Float32Array(1) };

const small: Readonly<Record<string, WritableTensor>> = {
  "layer/w": ONE_AND_MINUS_TWO,
  half: { dtype: "F16", shape: [], data: Uint16Array.of(0x3c00) },
  step: { dtype: "I64", shape: [], data: BigInt64Array.of(7n) },
  mask: { dtype: "BOOL", shape: [3], data: Uint8Array.of(1, 0, 0) },
  eight: { dtype: "F8_E4M3", shape: [1], data: Uint8Array.of(3) },
  none: { dtype: "F32", shape: [0, 2], data: new Float32Array(0) },
};

/** Tensors by name with their bytes, so that NaN payloads and the sign of 0 count. */
const plain = ({ tensors, metadata }: LoadedTensors) =>
  JSON.stringify([
    Object.entries(tensors).map(([name, { dtype, shape, data }]) => [
      name,
      dtype,
      shape,
      Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("hex"),
    ]),
    Object.entries(metadata),
  ]);

/** One bit in 11 is flipped in a file too, so that each bit of a byte is: reading a file takes longest. */
const IN_FILE = 11;

/** The result of loading the bytes with one bit flipped: their content, or the code of the refusal. */
async function withFlip(bytes: Uint8Array, bit: number): Promise<string> {
  const flipped = Uint8Array.from(bytes);
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  const answer = await answerOf(() => load(flipped));
  if (bit % IN_FILE === seed % IN_FILE) {
    await writeFile(path, flipped);
    expect(await answerOf(() => loadFile(path))).toBe(answer);
  }
  return answer;
}

async function answerOf(loaded: () => LoadedTensors | Promise<LoadedTensors>): Promise<string> {
  try {
    return plain(await loaded());
  } catch (error) {
    if (SafetensorsError.is(error, "SAFETENSORS_PARSE")) return error.code;
    throw error;
  }
}

async function expectNoOtherContent(bytes: Uint8Array, bits: Iterable<number>): Promise<void> {
  await writeFile(path, bytes);
  const content = plain(await loadFile(path));
  const answers = new Set([content, "SAFETENSORS_PARSE"]);
  let refused = 0;
  for (const bit of bits) {
    const answer = await withFlip(bytes, bit);
    if (!answers.has(answer)) expect.fail(`bit ${bit} of ${8 * bytes.length}: loads as ${answer}`);
    if (answer !== content) refused++;
  }
  expect(refused).toBeGreaterThan(0);
}

describe("a file of saveFile", () => {
  it("is loaded with no other content after the flip of any one bit", async () => {
    await saveFile(path, small, { format: "pt", note: "é\u001f" });
    const bytes = new Uint8Array(await readFile(path));
    await expectNoOtherContent(
      bytes,
      Array.from({ length: 8 * bytes.length }, (_, bit) => bit),
    );
  });

  it("is loaded with no other content after the flip of any of many bits, where it is larger", async () => {
    console.log(`flips of bits, seed ${seed}`);
    const random = randomOf(seed);
    const data = Float32Array.from({ length: 50_000 }, () => random() - 0.5);
    const halves = Uint16Array.from({ length: 10_000 }, () => random() * 2 ** 16);
    await saveFile(path, {
      data: { dtype: "F32", shape: [50_000], data },
      halves: { dtype: "BF16", shape: [100, 100], data: halves },
    });
    const bytes = new Uint8Array(await readFile(path));
    await expectNoOtherContent(
      bytes,
      Array.from({ length: 500 }, () => Math.floor(random() * 8 * bytes.length)),
    );
  });

  it("says what is wrong and what to do", async () => {
    await saveFile(path, small);
    const bytes = await readFile(path);
    // The first byte of the f32 values, which follow the header and the eight bytes of the i64.
    const at = 8 + bytes.readUInt32LE(0) + 8;
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    await writeFile(path, bytes);
    await expect(loadFile(path)).rejects.toMatchObject({
      code: "SAFETENSORS_PARSE",
      message: expect.stringMatching(/not what was written; load an earlier file.* in \/.*step/) as string,
      details: { problem: "hash-mismatch", path },
    });
  });

  it("holds the hash of the same file without it, so that other programs can check it", async () => {
    await saveFile(path, small, { b: "1", a: "2" });
    const { metadata } = parse(await readFile(path));
    const digits = createHash("sha256")
      .update(serialize(Object.entries(small), Object.entries({ b: "1", a: "2" })))
      .digest("hex");
    expect(Object.fromEntries(metadata)).toEqual({ a: "2", b: "1", "mp.sha256": `mp.sha256:${digits}` });
  });

  it("stays valid when another program writes the same content in another order", async () => {
    await saveFile(path, { w: ONE_AND_MINUS_TWO, a: ZERO }, { k: "v" });
    const bytes = await readFile(path);
    const { metadata } = parse(bytes);
    const hash = metadata.get("mp.sha256");
    // In the file that saveFile wrote, `a` is stored before `w`.
    const header = `{"w":{"shape":[2],"dtype":"F32","data_offsets":[0,8]},"a":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}, "__metadata__":{"mp.sha256":"${hash}","\\u006b":"v"}}`;
    const length = Buffer.alloc(8);
    length.writeUInt32LE(header.length);
    const data = Buffer.from(Float32Array.of(1, -2, 0).buffer);
    await writeFile(path, Buffer.concat([length, Buffer.from(header), data]));
    const loaded = await loadFile(path);
    expect({ ...loaded }).toEqual(load(save({ w: ONE_AND_MINUS_TWO, a: ZERO }, { k: "v" })));
    expect({ ...loaded.metadata }).toEqual({ k: "v" });
  });

  it("keeps its hash to itself: loaded metadata are those that were given", async () => {
    await saveFile(path, small, { k: "v" });
    const { tensors, metadata } = await loadFile(path);
    expect({ ...metadata }).toEqual({ k: "v" });
    const before = await readFile(path);
    await saveFile(path, tensors, metadata);
    expect((await readFile(path)).equals(before)).toBe(true);
  });

  it.each([{ "mp.sha256": "x" }, { other: `mp.sha256:${"0".repeat(64)}` }])(
    "is not written with %o of the caller's",
    async (metadata) => {
      expect(() => save(small, metadata)).toThrow(/the file's own hash/);
      await expect(saveFile(path, small, metadata)).rejects.toMatchObject({
        code: "SAFETENSORS_INVALID_ARGUMENT",
        message: expect.stringContaining("the file's own hash") as string,
      });
    },
  );
});

it("a file without a hash loads", async () => {
  await writeFile(path, serialize(Object.entries(small), [["sha256", "of something else"]]));
  const { tensors, metadata } = await loadFile(path);
  expect(Object.keys(tensors).sort()).toEqual(Object.keys(small).sort());
  expect({ ...metadata }).toEqual({ sha256: "of something else" });
});
