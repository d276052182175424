import { accessSync, constants, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { CommonOptions } from "./common-flags.js";

/**
 * Finds a problem with the paths on a command line before anything runs: a missing input, an output whose folder is
 * missing, or one file used twice. Undefined if there is none.
 */
export function pathProblem(options: CommonOptions): string | undefined {
  const { data, resume, save, json, report } = options;
  if (data !== undefined && pathKind(data) !== "directory")
    return `--data ${data}: ${problemText(data, "directory")}`;
  if (resume !== undefined && pathKind(resume) !== "file")
    return `--resume ${resume}: ${problemText(resume, "file")}`;
  const claimed = new Map(resume === undefined ? [] : [[resolve(resume), "resume"]]);
  for (const [flag, path] of Object.entries({ save, json, report })) {
    if (path === undefined) continue;
    const other = claimed.get(resolve(path));
    // Resuming from a checkpoint and saving to the same path is common.
    if (other !== undefined && !(other === "resume" && flag === "save"))
      return `--${flag} ${path}: is where --${other} is too, name another file`;
    claimed.set(resolve(path), flag);
    const problem = outputProblem(flag, path, "file");
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Finds why a flag's file or directory could not be written; undefined if it can be. */
export function outputProblem(flag: string, path: string, wanted: "file" | "directory"): string | undefined {
  const kind = pathKind(path);
  if (kind !== "missing" && kind !== wanted) return `--${flag} ${path}: is a ${kind}, name a ${wanted}`;
  const folder = kind === "directory" ? path : dirname(resolve(path));
  if (pathKind(folder) !== "directory") return `--${flag} ${path}: no such directory, ${folder}`;
  return isWritable(folder) ? undefined : `--${flag} ${path}: nothing may be written in ${folder}`;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

type Kind = "file" | "directory" | "missing";

function pathKind(path: string): Kind {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return "missing";
  return found.isDirectory() ? "directory" : "file";
}

function problemText(path: string, wanted: "file" | "directory"): string {
  return pathKind(path) === "missing" ? `no such ${wanted}` : `not a ${wanted}`;
}
