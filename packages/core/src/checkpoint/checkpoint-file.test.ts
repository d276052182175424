import { createHash } from "node:crypto";
import { copyFile, mkdtemp, open, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HostTensor, tensor, zeros } from "../host-tensor.js";
import { parse } from "../safetensors/parse.js";
import { loadTensors, saveTensors } from "./checkpoint-file.js";

const fixture = fileURLToPath(
  new URL("../../test/fixtures/python-safetensors-0.8.0.safetensors", import.meta.url),
);

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "mp-checkpoint-"));
  path = join(directory, "step.safetensors");
});
afterEach(() => rm(directory, { recursive: true }));

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail("did not fail"),
    (error: unknown) => error,
  );
}

describe("saveTensors and loadTensors", () => {
  it("give back every dtype, bit for bit", async () => {
    const tensors: Record<string, HostTensor> = {
      f32: tensor(Float32Array.of(1, -0, Number.NaN, 1e-45, Number.POSITIVE_INFINITY, 3), [2, 3]),
      f16: tensor(Uint16Array.of(0x3c00, 0x7e01), [2], "f16"),
      bf16: tensor(Uint16Array.of(0x3f80), [], "bf16"),
      f8e4m3: tensor(Uint8Array.of(0x7e, 0xff, 0x01), [3], "f8e4m3"),
      f8e5m2: tensor(Uint8Array.of(0x7c), [1, 1, 1], "f8e5m2"),
      i32: tensor(Int32Array.of(-(2 ** 31), 2 ** 31 - 1)),
      i64: tensor(BigInt64Array.of(-(2n ** 63n), 2n ** 53n + 1n)),
      u64: tensor(BigUint64Array.of(2n ** 64n - 1n), [1], "u64"),
      u8: tensor(Uint8Array.of(0, 255)),
      bool: tensor(Uint8Array.of(1, 0, 1), [3], "bool"),
      none: zeros([3, 0]),
    };
    await saveTensors(path, tensors, { step: "7", note: "é" });
    const loaded = await loadTensors(path);
    expect({ ...loaded.tensors }).toEqual(tensors);
    expect({ ...loaded.metadata }).toEqual({ step: "7", note: "é" });
    expect(await readdir(directory)).toEqual(["step.safetensors"]);
  });

  it("read the reference writer's file and write it again with nothing but a hash of it, a tensor named __proto__ included", async () => {
    const { tensors, metadata } = await loadTensors(fixture);
    expect(Object.keys(tensors)).toContain("__proto__");
    expect(new Map(Object.entries(tensors)).get("__proto__")).toEqual(tensor(Float32Array.of(42)));
    await saveTensors(path, tensors, metadata);
    const { metadata: written } = parse(await readFile(path));
    const digits = createHash("sha256")
      .update(await readFile(fixture))
      .digest("hex");
    expect(Object.fromEntries(written)).toEqual({ ...metadata, "mp.sha256": `mp.sha256:${digits}` });
  });

  it("write nothing for tensors that the format cannot hold", async () => {
    await saveTensors(path, { w: zeros([1]) });
    const before = await readFile(path);
    const broken = { ...zeros([2]), shape: [3] };
    expect(await failureOf(saveTensors(path, { w: broken }))).toMatchObject({ code: "MP_INVALID_ARGUMENT" });
    expect(await readFile(path)).toEqual(before);
  });

  it("replace a file that is shorter or longer", async () => {
    for (const size of [10, 100_000, 1]) {
      await saveTensors(path, { w: zeros([size]) });
      expect((await loadTensors(path)).tensors).toEqual({ w: zeros([size]) });
    }
  });
});

describe("loadTensors", () => {
  it("says which file is missing", async () => {
    expect(await failureOf(loadTensors(path))).toMatchObject({
      code: "MP_IO",
      message: `reading ${path} failed with ENOENT: there is no such file or directory, check the path`,
      details: { path, errno: "ENOENT" },
    });
  });

  it("refuses a directory", async () => {
    expect(await failureOf(loadTensors(directory))).toMatchObject({
      code: "MP_IO",
      details: { path: directory },
    });
  });

  it("refuses the file cut at any byte, naming the file", async () => {
    const { length } = await readFile(fixture);
    for (let size = length - 1; size >= 0; size -= size > 850 || size < 20 ? 1 : 97) {
      await copyFile(fixture, path);
      await truncate(path, size);
      const error = await failureOf(loadTensors(path));
      expect(error, `cut at ${size}`).toMatchObject({ code: "MP_PARSE", details: { path } });
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
    expect(await failureOf(loadTensors(path))).toMatchObject({
      code: "MP_PARSE",
      message: expect.stringContaining(message) as string,
      details: { problem, path },
    });
  });

  it("believes neither header nor offsets about sizes, before it allocates", async () => {
    const huge = new Uint8Array(16);
    new DataView(huge.buffer).setBigUint64(0, 99_999_999n, true);
    await writeFile(path, huge);
    expect(await failureOf(loadTensors(path))).toMatchObject({ details: { problem: "header-beyond-file" } });
    const header = Buffer.from(
      '{"w":{"dtype":"U8","shape":[8000000000000],"data_offsets":[0,8000000000000]}}   ',
    );
    const file = Buffer.alloc(8 + header.length + 4);
    file.writeBigUInt64LE(BigInt(header.length));
    header.copy(file, 8);
    await writeFile(path, file);
    expect(await failureOf(loadTensors(path))).toMatchObject({ details: { problem: "data-missing" } });
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
    expect(await failureOf(loadTensors(path))).toMatchObject({
      code: "MP_OUT_OF_MEMORY",
      details: { tensor: "w", bytes: 8_000_000_000_000, path },
    });
    const limits = { maxDataBytes: 2 ** 30 };
    expect(await failureOf(loadTensors(path, { limits }))).toMatchObject({
      details: { problem: "too-much-data" },
    });
  });

  it.each([undefined, null, 3, "", "a\0b"])("takes a path and not %j", async (wrong) => {
    const refusal = {
      code: "MP_INVALID_ARGUMENT",
      message: expect.stringContaining("takes the path of a file") as string,
    };
    expect(await failureOf(loadTensors(wrong as string))).toMatchObject(refusal);
    expect(await failureOf(saveTensors(wrong as string, {}))).toMatchObject(refusal);
  });

  it("stops at an abort", async () => {
    await expect(loadTensors(fixture, { signal: AbortSignal.abort("why") })).rejects.toBe("why");
  });
});
