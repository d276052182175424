import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { testPackages } from "./package-tests.mjs";
import { countMissing, PartsMissing } from "./parts.mjs";

/** Python packages that the tests read our files with. */
const PACKAGES = ["numpy==2.4.6", "onnx==1.23.2", "safetensors==0.8.0", "tensorboard==2.21.0"];

/**
 * Runs the packages' tests in which other projects' readers read our files: with the Python that MP_PYTHON names, or one
 * that is installed here.
 * @returns {{ passed: number; failed: number }} nothing passed and nothing failed where it cannot be installed, which
 *   counts as failed where MP_REQUIRE names python
 */
export function testPython() {
  const hash = createHash("sha256").update(PACKAGES.join(" ")).digest("hex").slice(0, 12);
  const folder = join(homedir(), ".cache", "mp", "python", hash);
  const isThere = process.env["MP_PYTHON"] !== undefined || existsSync(folder);
  const problem = isThere ? undefined : make(folder);
  if (problem !== undefined)
    return countMissing(
      "python",
      "Our files were not read by Python",
      new PartsMissing(problem),
      "python3 with venv and a package index",
    );
  return testPackages("test:python", { MP_PYTHON: process.env["MP_PYTHON"] ?? interpreterIn(folder) });
}

/**
 * Installs whole or not at all: a run that is killed leaves a folder of another name.
 * @param {string} folder
 * @returns {string | undefined} what went wrong
 */
function make(folder) {
  const part = `${folder}.${process.pid}`;
  mkdirSync(join(folder, ".."), { recursive: true });
  const python = process.platform === "win32" ? "python" : "python3";
  try {
    for (const [command, ...args] of [
      [python, "-m", "venv", part],
      [interpreterIn(part), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...PACKAGES],
    ]) {
      const { status, error, stderr } = spawnSync(/** @type {string} */ (command), args, {
        encoding: "utf8",
      });
      if (status !== 0)
        return error?.message ?? (stderr.trim().split("\n").at(-1) || `it exited with ${status}`);
    }
    renameSync(part, folder);
    return undefined;
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}

/** @param {string} folder of a virtual environment */
const interpreterIn = (folder) =>
  process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");
