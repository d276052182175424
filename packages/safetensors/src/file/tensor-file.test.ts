import { createHash } from "node:crypto";
import { copyFile, mkdtemp, open, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "../parse.js";
import { load, save } from "../save.js";
import type { WritableTensor } from "../tensor.js";
import { arrayOf } from "../typed-arrays.js";
import { loadFile, saveFile } from "./tensor-file.js";

const fixture = fileURLToPath(new URL("../../test/fixtures/python-0.8.0.safetensors", import.meta.url));

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "safetensors-"));
  path = join(directory, "step.safetensors");
});
afterEach(() => rm(directory, { recursive: true }));

const zeros = (shape: readonly number[]): WritableTensor => ({
  dtype: "F32",
  shape,
  data: new Float32Array(shape.reduce((product, n) => product * n, 1)),
});

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail("did not fail"),
    (error: unknown) => error,
  );
}

describe("saveFile and loadFile", () => {
  it("give back every bit", async () => {
    const tensors: Record<string, WritableTensor> = {
      f32: { dtype: "F32", shape: [2, 3], data: Float32Array.of(1, -0, Number.NaN, 1e-45, 1 / 0, 3) },
      f16: { dtype: "F16", shape: [2], data: Uint16Array.of(0x3c00, 0x7e01) },
      f4: { dtype: "F4", shape: [2, 2], data: Uint8Array.of(0x12, 0x34) },
      i64: { dtype: "I64", shape: [2], data: BigInt64Array.of(-(2n ** 63n), 2n ** 53n + 1n) },
      scalar: { dtype: "F64", shape: [], data: Float64Array.of(Math.PI) },
      bool: { dtype: "BOOL", shape: [3], data: Uint8Array.of(1, 0, 1) },
      none: zeros([3, 0]),
    };
    await saveFile(path, tensors, { step: "7", note: "é" });
    const loaded = await loadFile(path);
    expect(Object.keys(loaded.tensors).sort()).toEqual(Object.keys(tensors).sort());
    for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
      const read = loaded.tensors[name];
      expect(read).toMatchObject({ dtype, shape });
      expect(read && arrayOf(read)).toEqual(data);
    }
    expect({ ...loaded.metadata }).toEqual({ step: "7", note: "é" });
    expect(await readdir(directory)).toEqual(["step.safetensors"]);
    const bytes = new Uint8Array(await readFile(path));
    expect(save(tensors, { note: "é", step: "7" })).toEqual(bytes);
    expect(load(bytes)).toEqual(loaded);
  });

  it("read the reference writer's file and write it again with nothing but a hash of it, a tensor named __proto__ included", async () => {
    const { tensors, metadata } = await loadFile(fixture);
    expect(Object.keys(tensors)).toContain("__proto__");
    const named = new Map(Object.entries(tensors)).get("__proto__");
    expect(named && arrayOf(named)).toEqual(Float32Array.of(42));
    await saveFile(path, tensors, metadata);
    const { metadata: written } = parse(await readFile(path));
    const digits = createHash("sha256")
      .update(await readFile(fixture))
      .digest("hex");
    expect(Object.fromEntries(written)).toEqual({ ...metadata, "mp.sha256": `mp.sha256:${digits}` });
  });

  it("write nothing for tensors that the format cannot hold", async () => {
    await saveFile(path, { w: zeros([1]) });
    const before = await readFile(path);
    const broken = { ...zeros([2]), shape: [3] };
    expect(await failureOf(saveFile(path, { w: broken }))).toMatchObject({
      code: "SAFETENSORS_INVALID_ARGUMENT",
    });
    expect(await readFile(path)).toEqual(before);
  });

  it("replace a file that is shorter or longer", async () => {
    for (const size of [10, 100_000, 1]) {
      await saveFile(path, { w: zeros([size]) });
      expect((await loadFile(path)).tensors["w"]).toMatchObject({ shape: [size] });
    }
  });
});

describe("loadFile", () => {
  it("says which file is missing", async () => {
    expect(await failureOf(loadFile(path))).toMatchObject({
      code: "SAFETENSORS_IO",
      message: `reading ${path} failed with ENOENT: there is no such file or directory, check the path`,
      details: { path, errno: "ENOENT" },
    });
  });

  it("refuses a directory", async () => {
    expect(await failureOf(loadFile(directory))).toMatchObject({
      code: "SAFETENSORS_IO",
      details: { path: directory },
    });
  });

  it("refuses the file cut at any byte, naming the file", async () => {
    const { length } = await readFile(fixture);
    for (let size = length - 1; size >= 0; size -= size > 850 || size < 20 ? 1 : 97) {
      await copyFile(fixture, path);
      await truncate(path, size);
      const error = await failureOf(loadFile(path));
      expect(error, `cut at ${size}`).toMatchObject({ code: "SAFETENSORS_PARSE", details: { path } });
      expect(String(error)).toContain(`, in ${path}`);
    }
  });

  it.each([
    ["text", "once upon a time", "header-too-large", "the file is no safetensors file"],
    [
      "a zip archive, as torch.save writes",
      "PK\x03\x04\0\0\0\0\0\0\0\0\0\0\0\0",
      "header-beyond-file",
      "does not fit a file of",
    ],
    ["nothing", "", "file-too-short", "0 bytes are fewer"],
  ])("refuses %s", async (_, content, problem, message) => {
    await writeFile(path, content);
    expect(await failureOf(loadFile(path))).toMatchObject({
      code: "SAFETENSORS_PARSE",
      message: expect.stringContaining(message) as string,
      details: { problem, path },
    });
  });

  it("believes neither header nor offsets about sizes, before it allocates", async () => {
    const huge = new Uint8Array(16);
    new DataView(huge.buffer).setBigUint64(0, 99_999_999n, true);
    await writeFile(path, huge);
    expect(await failureOf(loadFile(path))).toMatchObject({ details: { problem: "header-beyond-file" } });
    const header = Buffer.from(
      '{"w":{"dtype":"U8","shape":[8000000000000],"data_offsets":[0,8000000000000]}}   ',
    );
    const file = Buffer.alloc(8 + header.length + 4);
    file.writeBigUInt64LE(BigInt(header.length));
    header.copy(file, 8);
    await writeFile(path, file);
    expect(await failureOf(loadFile(path))).toMatchObject({ details: { problem: "data-missing" } });
  });

  it("reports a tensor that cannot be allocated, from a sparse file", async () => {
    const header = Buffer.from(
      '{"w":{"dtype":"U8","shape":[8000000000000],"data_offsets":[0,8000000000000]}}   ',
    );
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    const handle = await open(path, "w");
    await handle.writev([length, header]);
    await handle.truncate(8 + header.length + 8_000_000_000_000).finally(() => handle.close());
    expect(await failureOf(loadFile(path))).toMatchObject({
      code: "SAFETENSORS_OUT_OF_MEMORY",
      details: { tensor: "w", bytes: 8_000_000_000_000, path },
    });
    const limits = { maxDataBytes: 2 ** 30 };
    expect(await failureOf(loadFile(path, { limits }))).toMatchObject({
      details: { problem: "too-much-data" },
    });
  });

  it.each([undefined, null, 3, "", "a\0b"])("takes a path and not %j", async (wrong) => {
    const refusal = {
      code: "SAFETENSORS_INVALID_ARGUMENT",
      message: expect.stringContaining("takes the path of a file") as string,
    };
    expect(await failureOf(loadFile(wrong as string))).toMatchObject(refusal);
    expect(await failureOf(saveFile(wrong as string, {}))).toMatchObject(refusal);
  });

  it("names what it got instead of a path, and not all of its elements", async () => {
    const message = (type: string) => ({
      message: expect.stringMatching(new RegExp(`got ${type}$`)) as string,
    });
    expect(await failureOf(loadFile(new Uint8Array(99) as never))).toMatchObject(message("Uint8Array"));
    expect(await failureOf(loadFile(Object.create(null) as never))).toMatchObject(message("an object"));
  });

  it("stops at an abort", async () => {
    await expect(loadFile(fixture, { signal: AbortSignal.abort("why") })).rejects.toBe("why");
  });
});
