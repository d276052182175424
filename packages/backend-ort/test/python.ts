import { spawnSync } from "node:child_process";

/** The Python that tests of other libraries' readers use: MP_PYTHON, or the one on PATH. */
const PYTHON = process.env["MP_PYTHON"] ?? "python3";

/** Whether it has those modules. */
export function pythonHas(...modules: readonly string[]): boolean {
  return spawnSync(PYTHON, ["-c", `import ${modules.join(", ")}`]).status === 0;
}

/** What a program prints, run in that folder. @throws with its messages */
export function runPython(program: string, folder: string, ...given: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(PYTHON, ["-c", program, ...given], {
    cwd: folder,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}
