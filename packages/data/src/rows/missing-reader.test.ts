import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { refusal } from "../../test/refusal.js";
import { readRows } from "./read-rows.js";

vi.doMock("hyparquet", () => {
  throw new Error("Cannot find package hyparquet");
});

it("names the packages that read Parquet", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mp-readers-"));
  const path = join(folder, "rows.parquet");
  await writeFile(path, "a\n1\n");
  const error = await refusal(() => readRows(path));
  expect([error.code, error.message]).toEqual([
    "MP_BACKEND_UNAVAILABLE",
    "readRows: Parquet is read by hyparquet and hyparquet-compressors, which cannot be loaded; npm install hyparquet hyparquet-compressors",
  ]);
  await rm(folder, { recursive: true });
});
