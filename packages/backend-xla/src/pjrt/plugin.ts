/** Loads a PJRT plugin once per process and calls its functions. Knows nothing about clients or programs. */
import { MpError } from "@mp/graph";
import koffi, { type KoffiFunc, type LibraryHandle } from "koffi";
import { pluginFailure, unavailable } from "./failure.js";
import { bytesAt, type FieldName, type FieldValue, type FunctionName, Struct, slotOf } from "./struct.js";

type NativeFunction = KoffiFunc<(args: Uint8Array) => bigint | null>;
type Values<N extends FunctionName> = { readonly [F in FieldName<N>]?: FieldValue };

/** PJRT_Api begins with its size, a pointer, and the version, a struct of 24 bytes; pointers to functions follow. */
const HEADER_BYTES = 40;
const MAJOR_VERSION = 0;

const PLUGIN_REMEDY = "name the library of a PJRT plugin";

const loaded = new Map<string, Plugin>();

/** @throws MP_BACKEND_UNAVAILABLE for a file that does not load or is not a plugin of this major version */
export function loadPlugin(path: string): Plugin {
  const plugin = loaded.get(path) ?? new Plugin(path);
  loaded.set(path, plugin);
  return plugin;
}

export class Plugin {
  /** The absolute path of the library. */
  readonly path: string;
  /** The version of the C interface, such as 0.114. */
  readonly apiVersion: string;
  /** Held because the garbage collector unloads a library without references. */
  readonly #library: LibraryHandle;
  readonly #table: BigUint64Array;
  readonly #functions = new Map<FunctionName, NativeFunction>();
  readonly #prototype = koffi.proto("void *(void *args)");

  constructor(path: string) {
    this.path = path;
    setDefaults();
    growStacks();
    this.#library = openLibrary(path);
    const api = findApi(path, this.#library);
    const header = new DataView(bytesAt(api, HEADER_BYTES).buffer);
    const [major, minor] = [header.getInt32(32, true), header.getInt32(36, true)];
    this.apiVersion = `${major}.${minor}`;
    if (major !== MAJOR_VERSION) {
      const problem = `has version ${this.apiVersion} of the PJRT interface, and ${MAJOR_VERSION}.x is needed`;
      throw unavailable(path, problem, "install a plugin that fits");
    }
    this.#table = new BigUint64Array(
      bytesAt(api, Number(header.getBigUint64(0, true))).slice(HEADER_BYTES).buffer,
    );
    this.call("Plugin_Initialize");
  }

  has(name: FunctionName): boolean {
    // Older plugins have shorter tables.
    return (this.#table[slotOf(name)] ?? 0n) !== 0n;
  }

  /**
   * Calls a function. @returns the argument struct, into which the function has written its results
   * @throws MP_UNSUPPORTED for a function that the plugin lacks, MP_OUT_OF_MEMORY, MP_BACKEND_FAILED
   */
  call<N extends FunctionName>(name: N, values: Values<N> = {}): Struct<N> {
    const args = new Struct(name, values);
    this.callWith(name, args);
    return args;
  }

  /** Calls a function with an argument struct of the caller, to reuse it or to read results from it. */
  callWith<N extends FunctionName>(name: N, args: Struct<N>): void {
    this.#check(name, this.#function(name)(args.bytes));
  }

  /** Calls a function on another thread. Keeps the argument, and all it points to, alive until the end. */
  async callAsync<N extends FunctionName>(name: N, values: Values<N>): Promise<Struct<N>> {
    const args = new Struct(name, values);
    const call = this.#function(name);
    const error = await new Promise<bigint | null>((resolve, reject) => {
      call.async(args.bytes, (failure, result) => (failure ? reject(failure) : resolve(result)));
    });
    this.#check(name, error);
    return args;
  }

  #function(name: FunctionName): NativeFunction {
    const known = this.#functions.get(name);
    if (known !== undefined) return known;
    if (!this.has(name)) {
      const message = `XLA: ${this.path}, of version ${this.apiVersion}, has no PJRT_${name}`;
      throw new MpError("MP_UNSUPPORTED", message);
    }
    const made = koffi.decode(this.#table[slotOf(name)], this.#prototype) as NativeFunction;
    this.#functions.set(name, made);
    return made;
  }

  #check(name: FunctionName, error: bigint | null): void {
    if (error === null || error === 0n) return;
    const message = new Struct("Error_Message", { error });
    const code = new Struct("Error_GetCode", { error });
    this.#function("Error_Message")(message.bytes);
    this.#function("Error_GetCode")(code.bytes);
    const failure = pluginFailure(name, code.number("code"), message.text("message", "message_size"));
    this.#function("Error_Destroy")(new Struct("Error_Destroy", { error }).bytes);
    throw failure;
  }
}

function openLibrary(path: string): LibraryHandle {
  try {
    return koffi.load(path, { lazy: true });
  } catch (cause) {
    const said = cause instanceof Error ? cause.message : String(cause);
    throw unavailable(path, `does not load (${said})`, PLUGIN_REMEDY, cause);
  }
}

function findApi(path: string, library: LibraryHandle): bigint {
  try {
    return library.func("void *GetPjrtApi()")() as bigint;
  } catch (cause) {
    throw unavailable(path, "is no PJRT plugin, since it has no GetPjrtApi", PLUGIN_REMEDY, cause);
  }
}

/** XLA flags for the CPU that no compile option can set. They do not affect programs for other devices. */
const PROCESSOR_FLAGS = [
  // Kernels that go through MLIR take three times as long to compile.
  "--xla_backend_extra_options=xla_cpu_disable_new_fusion_emitters",
  // Newer instructions round a product and its sum once, in some programs and not in others.
  "--xla_cpu_max_isa=AVX",
];

/** Sets the environment variables that the library reads when it is loaded, unless the user has set them. */
function setDefaults(): void {
  // Otherwise the library also writes its errors to standard error.
  process.env["TF_CPP_MIN_LOG_LEVEL"] ??= "3";
  process.env["XLA_FLAGS"] ??= PROCESSOR_FLAGS.join(" ");
}

/**
 * Largest stack of koffi's calls on other threads; it can be set only before the process loads its first library. With
 * koffi's default of 128 KiB, LLVM would crash the process when it compiles.
 */
const STACK_BYTES = 16 * 1024 * 1024;

function growStacks(): void {
  const settings = koffi.config();
  if ((settings.async_stack_size ?? 0) >= STACK_BYTES) return;
  try {
    koffi.config({ ...settings, sync_stack_size: STACK_BYTES, async_stack_size: STACK_BYTES });
  } catch {
    // Other code used koffi first, so that code's sizes are in effect.
  }
}
