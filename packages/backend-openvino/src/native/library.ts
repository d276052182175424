/** Loads OpenVINO's C library once per process and path, and binds its functions. It knows nothing about models. */
import { dirname } from "node:path";
import { MpError } from "@mp/graph";
import { cacheFolder, LIBRARY_COMMAND } from "@mp/libopenvino";
import { growStacks } from "@mp/onnx-lowering/program";
import koffi from "koffi";
import { expectVersion } from "./expect-version.js";
import { FUNCTIONS, type NativeFunctions, type Out } from "./functions.js";

export interface OpenVinoLibrary {
  /** The absolute path of the library. */
  readonly path: string;
  /** The version that the library reports, such as 2026.4.1. */
  readonly version: string;
  /** The version with its build number. */
  readonly build: string;
  readonly functions: NativeFunctions;
  /** @throws MP_BACKEND_FAILED or a more specific code, with the library's last error, unless the status is 0 */
  check(status: number, what: string): void;
  /** Calls a function that returns a new pointer through its last parameter, and returns the pointer. */
  make(what: string, call: (out: Out) => number): bigint;
}

const loaded = new Map<string, OpenVinoLibrary>();

/** @throws MP_BACKEND_UNAVAILABLE if the library does not load or has another version than wanted */
export function loadLibrary(path: string, wanted: string): OpenVinoLibrary {
  const library = loaded.get(path) ?? open(path);
  loaded.set(path, library);
  expectVersion(path, library.version, wanted);
  return library;
}

function open(path: string): OpenVinoLibrary {
  growStacks(koffi);
  const functions = bind(path);
  const check = (status: number, what: string): void => {
    if (status !== 0) throw failure(status, what, functions.ov_get_last_err_msg() ?? "");
  };
  const version = [{ buildNumber: "", description: "" }] as Parameters<
    NativeFunctions["ov_get_openvino_version"]
  >[0];
  check(functions.ov_get_openvino_version(version), "version");
  const { buildNumber: build } = version[0];
  return Object.freeze({
    path,
    version: /^\d+\.\d+\.\d+/.exec(build)?.[0] ?? build,
    build,
    functions,
    check,
    make: (what: string, call: (out: Out) => number): bigint => {
      const out: Out = [null];
      check(call(out), what);
      return out[0] ?? 0n;
    },
  });
}

function bind(path: string): NativeFunctions {
  try {
    const library = koffi.load(path);
    const functions = Object.entries(FUNCTIONS).map(([name, [result, parameters]]) => [
      name,
      library.func(`${result} ${name}(${parameters})`),
    ]);
    return Object.freeze(Object.fromEntries(functions)) as NativeFunctions;
  } catch (cause) {
    const said = cause instanceof Error ? cause.message : String(cause);
    // The command does not replace existing files.
    const first = path.startsWith(cacheFolder(process.env)) ? `delete ${dirname(path)} and ` : "";
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      `OpenVINO: ${path} does not load (${said}); ${first}install it again with: ${LIBRARY_COMMAND}`,
      { details: { file: path, install: LIBRARY_COMMAND }, cause },
    );
  }
}

const NOT_IMPLEMENTED = -2;
const OUT_OF_BOUNDS = -6;

function failure(status: number, what: string, said: string): MpError {
  const message = `OpenVINO: ${what}: ${essence(said) || `status ${status}`}`;
  const code = /bad_alloc|out of memory|not enough memory|failed to allocate/i.test(said)
    ? "MP_OUT_OF_MEMORY"
    : status === NOT_IMPLEMENTED
      ? "MP_UNSUPPORTED"
      : status === OUT_OF_BOUNDS
        ? "MP_OUT_OF_RANGE"
        : "MP_BACKEND_FAILED";
  return new MpError(code, message, { details: { status, said: said.slice(0, 4000) } });
}

/** The last line that names no position in the library's source; at most 400 characters. */
function essence(said: string): string {
  const lines = said.split("\n").map((line) => line.trim());
  const telling = lines.filter(
    (line) => line !== "" && !/^(?:Exception from|Check '.*' failed at) src/.test(line),
  );
  return (telling.at(-1) ?? lines.find((line) => line !== "") ?? "").slice(0, 400);
}
