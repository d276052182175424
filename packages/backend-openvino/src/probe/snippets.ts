import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { NativeRuntime } from "../native/index.js";
import { endsWell } from "./ends-well.js";
import { keptAnswer } from "./kept-answer.js";

const LIMIT_MS = 30_000;

/** Answers by library, which is tried once in a process. */
const known = new WeakMap<NativeRuntime["library"], Promise<boolean>>();

/**
 * Whether a process survives the library's snippets, a pass that fuses operators, on products that end the process in some
 * releases. A child process tries it, and the answer is kept.
 */
export function snippetsWork(runtime: NativeRuntime): Promise<boolean> {
  const { library } = runtime;
  const answer =
    known.get(library) ??
    keptAnswer(runtime, "snippets", () => survives(library)).then((answered) => answered === true);
  known.set(library, answer);
  return answer;
}

function survives({ path, version }: NativeRuntime["library"]): Promise<boolean | undefined> {
  const child = childProgram();
  return child === undefined ? Promise.resolve(undefined) : endsWell(child, [path, version], LIMIT_MS);
}

/** The program in this package's dist; undefined in a bundle. */
function childProgram(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve("@mp/backend-openvino/package.json");
    return join(dirname(manifest), "dist", "snippets-child.js");
  } catch {
    return undefined;
  }
}
