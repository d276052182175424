/** Wheels of Python's package index, pinned by their sums, unpacked into one folder as pip would. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fetchOnce, onlyFile, run } from "./parts.mjs";

const PIP = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"];
/** Any Python can download them. */
const PLATFORM = [
  "--only-binary=:all:",
  "--python-version=3.11",
  ...["2_27", "2_17", "2_12"].map((glibc) => `--platform=manylinux_${glibc}_x86_64`),
];

/**
 * @typedef {object} Wheel
 * @property {string} name with its version, as pip takes it
 * @property {string} sha256
 */

/**
 * The folder that they were unpacked into the first time on a machine.
 * @param {string} kind a folder of the user's cache
 * @param {readonly Wheel[]} wheels
 * @param {(folder: string) => void} [finish] called with the folder when all are there
 * @throws {import("./parts.mjs").PartsMissing} where this machine or its network cannot provide them
 */
export const unpackWheels = (kind, wheels, finish) =>
  fetchOnce(kind, wheels, (into) => {
    for (const { name, sha256 } of wheels) {
      const download = join(into, "download");
      mkdirSync(download);
      run("python3", [...PIP, ...PLATFORM, "--dest", download, name], { cwd: into });
      run("python3", ["-m", "zipfile", "-e", onlyFile(download, name, sha256), into], { cwd: into });
      rmSync(download, { recursive: true });
    }
    finish?.(into);
  });
