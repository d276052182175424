// `#checkpoint-files` in Node. A bundle for a browser has no-files.ts in its place.
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type HostTensor, MpError } from "@mp/graph";
import { fileRemedy, invalid, shown } from "@mp/graph/internal";
import { loadFile, saveFile } from "@mp/safetensors/file";
import { asMpError } from "./format-error.js";
import { fromFormat, type LoadedTensors, toFormat } from "./format-tensors.js";

/** @throws MP_INVALID_ARGUMENT for a value that cannot be a path; the system's error would have no MP code */
export function checkPath(what: string, path: unknown): asserts path is string {
  if (typeof path === "string" && path !== "" && !path.includes("\0")) return;
  throw invalid(`${what}: takes the path of a file, got ${shown(path)}`);
}

/**
 * Makes the folder of a file that will be written and tests that it is writable, so that a bad path fails before the
 * work and not after it.
 * @throws MP_IO naming the path and the errno
 */
export async function prepareFile(path: string): Promise<void> {
  const trial = `${path}.${process.pid}.trial`;
  try {
    await mkdir(dirname(path), { recursive: true });
    const isFolder = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (isFolder) throw Object.assign(new Error("it is a folder"), { code: "EISDIR" });
    await writeFile(trial, "", { flag: "wx" });
    await rm(trial);
  } catch (error) {
    const { code: errno = "", message } = error as NodeJS.ErrnoException;
    throw new MpError("MP_IO", `${path} cannot be written: ${message}; ${fileRemedy(error)}`, {
      cause: error,
      details: { path, errno },
    });
  }
}

/**
 * Replaces the file atomically; the tensors must not change before the promise settles.
 * @throws MP_IO naming the path, the errno and what would help; the old file is then unchanged
 */
export async function saveTensors(
  path: string,
  tensors: Readonly<Record<string, HostTensor>>,
  metadata: Readonly<Record<string, string>> = {},
): Promise<void> {
  try {
    await saveFile(path, toFormat(tensors), metadata);
  } catch (error) {
    throw asMpError(error);
  }
}

/**
 * Reads a whole file; returns nothing unless all of it is valid.
 * @throws MP_IO for a file that cannot be read, MP_PARSE for one that is damaged or of another format, MP_UNSUPPORTED
 *   for a dtype that the SDK lacks, MP_OUT_OF_MEMORY for a tensor that does not fit
 */
export async function loadTensors(path: string): Promise<LoadedTensors> {
  try {
    return fromFormat(await loadFile(path));
  } catch (error) {
    throw addPath(asMpError(error), path);
  }
}

/** Adds the path to an error that lacks it: a user may have many checkpoints. */
function addPath(error: unknown, path: string): unknown {
  if (!MpError.is(error) || "path" in error.details) return error;
  return new MpError(error.code, `${error.message}, in ${path}`, {
    cause: error,
    details: { ...error.details, path },
  });
}
