import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { libraryDependencies } from "./elf-needed.js";
import { nodeFinding } from "./node-version.js";
import { libraryMajors } from "./nvidia.js";

it.each([
  ["18.20.4", "problem"],
  ["20.18.9", "problem"],
  ["20.19.0", "ok"],
  ["22.0.0", "ok"],
  ["24.11.1", "ok"],
  ["26.10.0", "ok"],
  ["27.0.0", "note"],
  ["100.1.0", "note"],
])("Node %s: %s", (version, status) => {
  const finding = nodeFinding(version);
  expect(finding.status).toBe(status);
  expect(finding.remedy === undefined).toBe(status === "ok");
});

it("the majors of libraries are in the names of their files", () => {
  const files = [
    "libcudart.so.12",
    "libcudart.so.13.0.48",
    "libcublas.so.12.4.5.8",
    "libcublasLt.so.11",
    "libcudnn.so.9",
    "libcudnn_ops.so.8",
    "cudart64_110.dll",
    "cudnn64_9.dll",
    "libc.so.6",
  ];
  expect(libraryMajors(files)).toEqual({ cudart: [11, 12, 13], cublas: [12], cudnn: [9] });
});

it("what a library needs is read from the library", async () => {
  // On other systems a program is not an ELF file.
  if (process.platform === "linux") expect(libraryDependencies(process.execPath)).toContain("libc.so.6");
  else expect(libraryDependencies(process.execPath)).toBeUndefined();
  const folder = await mkdtemp(join(tmpdir(), "mp-elf-"));
  const file = join(folder, "x");
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from("7f454c460201", "hex"),
    Buffer.from("#!/bin/sh\n".repeat(9)),
  ]) {
    await writeFile(file, bytes);
    expect(libraryDependencies(file)).toBeUndefined();
  }
  expect(libraryDependencies(join(folder, "missing"))).toBeUndefined();
  await rm(folder, { recursive: true });
});
