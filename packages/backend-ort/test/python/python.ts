import { spawnSync } from "node:child_process";

/** Has other projects' readers: `npm test -- --python` installs them. */
const PYTHON = process.env["MP_PYTHON"] ?? "python3";

/** The output of a program that runs in that folder. @throws with its messages */
export function runPython(program: string, folder: string, ...given: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(PYTHON, ["-c", program, ...given], {
    cwd: folder,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}
