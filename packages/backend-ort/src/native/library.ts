/**
 * Loads the ONNX Runtime library once per process and path, and binds the functions of `api-table.ts`. Knows
 * nothing about sessions or tensors.
 */
import { MpError } from "@mp/graph";
import { growStacks } from "@mp/onnx-lowering/program";
import koffi from "koffi";
import {
  API_TABLE,
  type ApiName,
  type ApiRow,
  type Done,
  type NativeFunctions,
  ORT_API_VERSION,
  type ParameterTypes,
  type ResultTypes,
} from "./api-table.js";
import { INSTALL_COMMAND, type LocateOptions, locateLibrary } from "./locate.js";
import { checkStatus } from "./status.js";

export interface OrtLibrary {
  /** The absolute path of the library. */
  readonly path: string;
  readonly version: string;
  readonly buildInfo: string;
  readonly functions: NativeFunctions;
  /** Throws the error of a status, if any, and releases it. @throws the codes of `checkStatus` */
  check(status: bigint | null, what: string): void;
  /** Calls a function whose last parameter receives a new pointer, and returns this pointer. */
  make(what: string, call: Maker): bigint;
  /** Makes an object by `call`, passes it to `use`, and releases it by `release`. */
  borrow<R>(what: string, call: Maker, release: (handle: bigint) => void, use: (handle: bigint) => R): R;
  /**
   * Waits for the asynchronous call that `start` begins.
   * @param inUse arrays that the worker thread uses; they are kept alive until the call ends
   */
  settle(what: string, inUse: unknown[], start: (done: Done<bigint | null>) => void): Promise<void>;
}

/** A call that writes a new pointer to `out` and returns its status. */
type Maker = (out: BigUint64Array) => bigint | null;

const PATH_TYPE = process.platform === "win32" ? "str16" : "str";

const parameterTypes: Readonly<Record<keyof ParameterTypes, string>> = {
  handle: "void *",
  nullable: "void *",
  out: "void *",
  bytes: "void *",
  memory: "void *",
  dimensions: "void *",
  size: "size_t",
  int: "int",
  string: "str",
  strings: "const char **",
  handles: "void *",
  path: PATH_TYPE,
};

const resultTypes: Readonly<Record<keyof ResultTypes, string>> = {
  status: "void *",
  void: "void",
  int: "int",
  string: "str",
};

const loaded = new Map<string, OrtLibrary>();

/**
 * @throws MP_BACKEND_UNAVAILABLE if the library is missing or does not load
 * @throws MP_SPEC_VERSION if the release of the library is too old for the functions that are used
 */
export function loadLibrary(options: LocateOptions = {}): OrtLibrary {
  const path = locateLibrary(options);
  const known = loaded.get(path);
  if (known !== undefined) return known;
  const library = open(path);
  loaded.set(path, library);
  return library;
}

function open(path: string): OrtLibrary {
  const base = apiBase(path);
  const version = call<string>(base, 1, koffi.proto("str", []));
  checkRelease(version, path);
  const functions = bind(call<bigint>(base, 0, koffi.proto("void *", ["uint32_t"]), ORT_API_VERSION));
  const check: OrtLibrary["check"] = (status, what) => checkStatus(functions, status, what);
  const make: OrtLibrary["make"] = (what, call) => {
    const out = new BigUint64Array(1);
    check(call(out), what);
    return out[0] ?? 0n;
  };
  const library: OrtLibrary = {
    path,
    version,
    buildInfo: functions.GetBuildInfoString(),
    functions,
    check,
    make,
    borrow: (what, call, release, use) => {
      const handle = make(what, call);
      try {
        return use(handle);
      } finally {
        release(handle);
      }
    },
    settle: (what, inUse, start) =>
      new Promise((resolve, reject) => {
        start((error, status) => {
          inUse.length = 0;
          try {
            if (error !== null) throw error;
            check(status, what);
            resolve();
          } catch (failure) {
            reject(failure);
          }
        });
      }),
  };
  return Object.freeze(library);
}

function apiBase(path: string): bigint {
  growStacks(koffi);
  try {
    const base: unknown = koffi.load(path).func("OrtGetApiBase", "void *", [])();
    if (typeof base === "bigint") return base;
  } catch (cause) {
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      `ONNX Runtime: ${path} does not load (${cause instanceof Error ? cause.message : String(cause)}); reinstall it with: ${INSTALL_COMMAND}`,
      { details: { file: path, install: INSTALL_COMMAND }, cause },
    );
  }
  throw new MpError("MP_BACKEND_UNAVAILABLE", `ONNX Runtime: ${path} has no API to give`, {
    details: { file: path },
  });
}

/** Stack size, in bytes, of asynchronous calls in this process. */
export function asyncStackBytes(): number {
  return koffi.config().async_stack_size ?? 0;
}

/**
 * Checks the release before the API is requested, because an older library would print to stderr.
 * @throws MP_SPEC_VERSION for a release that lacks `ORT_API_VERSION`
 */
export function checkRelease(version: string, path: string): void {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major === 1 && minor >= ORT_API_VERSION) return;
  throw new MpError(
    "MP_SPEC_VERSION",
    `ONNX Runtime: release 1.${ORT_API_VERSION} or a later 1.x is needed, ${path} is ${version}; install one with: ${INSTALL_COMMAND}`,
    { details: { file: path, found: version, neededApiVersion: ORT_API_VERSION } },
  );
}

function call<R>(
  table: bigint,
  index: number,
  type: ReturnType<typeof koffi.proto>,
  ...parameters: number[]
): R {
  return koffi.call(koffi.decode(table, index * POINTER_BYTES, "void *"), type, ...parameters) as R;
}

const POINTER_BYTES: number = koffi.sizeof("void *");

function bind(api: bigint): NativeFunctions {
  const rows: Readonly<Record<ApiName, ApiRow>> = API_TABLE;
  const functions: Record<string, unknown> = {};
  for (const [name, [index, result, ...parameters]] of Object.entries(rows)) {
    const type = koffi.proto(
      resultTypes[result],
      parameters.map((parameter) => parameterTypes[parameter]),
    );
    functions[name] = koffi.decode(koffi.decode(api, index * POINTER_BYTES, "void *"), type);
  }
  return Object.freeze(functions) as unknown as NativeFunctions;
}
