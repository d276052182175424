import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { tensor as hostTensor, MpError } from "@mp/graph";
import { afterEach, expect, test, vi } from "vitest";
import { bool, float, int, ints, shape, string, tensor, type } from "../graph/attributes.js";
import { nodeInit } from "../graph/node-def.js";
import { DataType, SavedModelSchema } from "../proto/saved_model_pb.js";
import { withSavedModel } from "./write-saved-model.js";

afterEach(() => vi.unstubAllEnvs());

const node = nodeInit("Op", "n", ["a", "^b"], {
  dtype: type("bf16"),
  count: int(-3),
  sizes: ints([1, 2]),
  alpha: float(0.5),
  flag: bool(true),
  name: string("é"),
  shape: shape([2, 0]),
  value: tensor(hostTensor(Uint16Array.of(0x3f80), [1], "bf16")),
});

test("the file holds the nodes, and is gone when it has been used", async () => {
  const [folder, model] = await withSavedModel([node], (path) => {
    return [
      path,
      fromBinary(SavedModelSchema, new Uint8Array(readFileSync(join(path, "saved_model.pb")))),
    ] as const;
  });
  expect(existsSync(folder)).toBe(false);
  const [read] = model.metaGraphs[0]?.graphDef?.node ?? [];
  expect([read?.op, read?.name, read?.input]).toEqual(["Op", "n", ["a", "^b"]]);
  const value = (key: string) => read?.attr[key]?.value.value;
  expect(value("dtype")).toBe(DataType.DT_BFLOAT16);
  expect(value("sizes")).toMatchObject({ i: [1n, 2n] });
  expect([value("count"), value("alpha"), value("flag")]).toEqual([-3n, 0.5, true]);
  expect(new TextDecoder().decode(value("name") as Uint8Array)).toBe("é");
  expect(value("shape")).toMatchObject({ dim: [{ size: 2n }, { size: 0n }] });
  expect(value("value")).toMatchObject({
    dtype: DataType.DT_BFLOAT16,
    tensorShape: { dim: [{ size: 1n }] },
    tensorContent: Uint8Array.of(0x80, 0x3f),
  });
});

test("it is gone after a failure as well", async () => {
  let folder = "";
  const failing = withSavedModel([node], (path) => {
    folder = path;
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(folder.startsWith(tmpdir())).toBe(true);
  expect(existsSync(folder)).toBe(false);
});

test("a folder that cannot be written is named, with what to set", async () => {
  vi.stubEnv("TMPDIR", "/proc/nowhere");
  const failure = await withSavedModel([node], () => 0).catch((error: unknown) => error);
  expect(MpError.is(failure) && failure.code).toBe("MP_BACKEND_FAILED");
  expect(String(failure)).toMatch(/\/proc\/nowhere.*TMPDIR/);
});
