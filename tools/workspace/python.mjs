import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { isRequired } from "./required.mjs";
import { environment } from "./turbo.mjs";

/** What the tests read our files with. */
const PACKAGES = ["numpy==2.4.6", "onnx==1.23.2", "safetensors==0.8.0", "tensorboard==2.21.0"];

/**
 * Gives the tests a Python with the readers of other projects, as MP_PYTHON: the one that it names already, or one that
 * is installed here.
 * @returns {{ passed: number; failed: number }} nothing passed and nothing failed where it cannot be installed, which
 *   counts as failed where MP_REQUIRE names python
 */
export function installPython() {
  if (process.env["MP_PYTHON"] !== undefined) return { passed: 1, failed: 0 };
  const hash = createHash("sha256").update(PACKAGES.join(" ")).digest("hex").slice(0, 12);
  const folder = join(homedir(), ".cache", "mp", "python", hash);
  const problem = existsSync(folder) ? undefined : make(folder);
  if (problem !== undefined) {
    const hasFailed = isRequired("python");
    console.log(
      `Python's readers were not installed, and tests with them are left out: ${problem}; it takes python3 with venv and a package index${hasFailed ? ", and MP_REQUIRE names python" : ""}`,
    );
    return { passed: 0, failed: Number(hasFailed) };
  }
  Object.assign(environment, { MP_PYTHON: interpreterIn(folder) });
  return { passed: 1, failed: 0 };
}

/** Prints one line when the tests that need Python were left out. */
export function sayPythonIsMissing() {
  if ("MP_PYTHON" in environment) return;
  console.log(
    "Files were not read by onnx.checker, safetensors and TensorBoard of Python; npm test -- --python installs them first, MP_PYTHON names a Python that has them",
  );
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
