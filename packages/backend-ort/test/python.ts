import { spawnSync } from "node:child_process";

/** Named where the tests have a Python with other projects' readers: `npm test -- --python`. */
const PYTHON = process.env["MP_PYTHON"];
export const hasPython = PYTHON !== undefined;

/** What a program prints, run in that folder. @throws with its messages */
export function runPython(program: string, folder: string, ...given: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(PYTHON ?? "", ["-c", program, ...given], {
    cwd: folder,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}
