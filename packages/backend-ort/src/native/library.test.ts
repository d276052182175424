import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MpError } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { API_TABLE } from "./api-table.js";
import { asyncStackBytes, checkRelease, loadLibrary } from "./library.js";
import { translateCode } from "./status.js";

describe("loadLibrary", () => {
  it("loads once and reports the release of the installed package", () => {
    const library = loadLibrary();
    const manifest = createRequire(import.meta.url).resolve("onnxruntime-node/package.json");
    const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
    expect(library.version).toBe(version);
    expect(library.buildInfo).toContain("ORT Build Info");
    expect(loadLibrary()).toBe(library);
  });

  it("refuses a file that is no library, with the loader's words as the cause", () => {
    const folder = mkdtempSync(join(tmpdir(), "mp-library-"));
    const file = join(folder, "libonnxruntime.so.1");
    writeFileSync(file, "not a library");
    try {
      expect(() => loadLibrary({ library: file })).toThrow(
        expect.objectContaining({ code: "MP_BACKEND_UNAVAILABLE", cause: expect.anything() }),
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("gives asynchronous calls a stack that native kernels fit in", () => {
    loadLibrary();
    expect(asyncStackBytes()).toBeGreaterThanOrEqual(8 * 1024 * 1024);
  });
});

describe("checkRelease", () => {
  it.each(["1.28.2", "1.9.0", "2.0.0", "0.99.0", ""])("refuses %s and names both versions", (version) => {
    expect(() => checkRelease(version, "/lib/ort.so")).toThrow(
      expect.objectContaining({
        code: "MP_SPEC_VERSION",
        message: expect.stringContaining(`1.29 or a later 1.x is needed, /lib/ort.so is ${version}`),
      }),
    );
  });

  it.each(["1.29.0", "1.30.0", "1.31.1-dev"])("accepts %s", (version) => {
    expect(() => checkRelease(version, "/lib/ort.so")).not.toThrow();
  });
});

describe("API_TABLE", () => {
  it("gives every function a place of its own", () => {
    const places = Object.values(API_TABLE).map(([index]) => index);
    expect(new Set(places).size).toBe(places.length);
  });
});

describe("errors of the engine", () => {
  it.each([
    [1, "anything", "MP_BACKEND_FAILED"],
    [2, "Invalid rank for input", "MP_INVALID_ARGUMENT"],
    [6, "Non-zero status code", "MP_BACKEND_FAILED"],
    [6, "std::bad_alloc", "MP_OUT_OF_MEMORY"],
    [1, "Failed to allocate memory for requested buffer of size 64", "MP_OUT_OF_MEMORY"],
    [1, "CUDA failure 2: out of memory", "MP_OUT_OF_MEMORY"],
    [7, "protobuf parsing failed", "MP_INVALID_ARGUMENT"],
    [9, "Could not find an implementation for MatMul(13)", "MP_UNSUPPORTED"],
    [10, "This is an invalid model", "MP_INVALID_ARGUMENT"],
    [4711, "a code of the future", "MP_BACKEND_FAILED"],
  ])("reads OrtErrorCode %i, %s as %s", (ortCode, message, code) => {
    expect(translateCode(ortCode, message)).toBe(code);
  });

  it("throws the engine's text once and is null for success", () => {
    const { functions, check } = loadLibrary();
    expect(() => check(null, "nothing")).not.toThrow();
    const status = functions.CreateTensorAsOrtValue(
      functions.GetAllocatorWithDefaultOptions(pointer) === null ? (pointer[0] ?? 0n) : 0n,
      BigInt64Array.of(-1n),
      1,
      1,
      pointer,
    );
    let caught: unknown;
    try {
      check(status, "tensor");
    } catch (error) {
      caught = error;
    }
    expect(MpError.is(caught)).toBe(true);
    expect(String(caught)).toContain("tensor: ");
  });
});

const pointer = new BigUint64Array(1);
