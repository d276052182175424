import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { refusal } from "../../test/refusal.js";
import { readRows } from "./read-rows.js";

for (const name of ["csv-parse", "hyparquet"]) {
  vi.doMock(name, () => {
    throw new Error(`Cannot find package ${name}`);
  });
}

it.each([
  ["csv", "CSV is read by csv-parse, which cannot be loaded; npm install csv-parse"],
  [
    "parquet",
    "Parquet is read by hyparquet and hyparquet-compressors, which cannot be loaded; npm install hyparquet hyparquet-compressors",
  ],
])("names the packages that read %s", async (format, message) => {
  const folder = await mkdtemp(join(tmpdir(), "mp-readers-"));
  const path = join(folder, `rows.${format}`);
  await writeFile(path, "a\n1\n");
  const error = await refusal(() => readRows(path));
  expect([error.code, error.message]).toEqual(["MP_BACKEND_UNAVAILABLE", `readRows: ${message}`]);
  await rm(folder, { recursive: true });
});
