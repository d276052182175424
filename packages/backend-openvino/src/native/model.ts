import { MpError } from "@mp/graph";
import { type Ledger, NativeResource } from "@mp/graph/internal";
import koffi from "koffi";
import { COUNTER, type NativeCounter, type Out } from "./functions.js";
import type { OpenVinoLibrary } from "./library.js";
import type { NativeTensor } from "./tensor.js";

export class NativeModel extends NativeResource {
  readonly library: OpenVinoLibrary;
  readonly ledger: Ledger;

  constructor(library: OpenVinoLibrary, ledger: Ledger, handle: bigint) {
    super("model", handle, ledger);
    this.library = library;
    this.ledger = ledger;
  }

  /** Whether the library read the model from the cache instead of compiling it. */
  get isFromCache(): boolean {
    const { functions, check } = this.library;
    const out: [string | null] = [null];
    check(
      functions.ov_compiled_model_get_property(this.handle, "LOADED_FROM_CACHE", out),
      "LOADED_FROM_CACHE",
    );
    return out[0] === "YES";
  }

  protected free(handle: bigint): void {
    this.library.functions.ov_compiled_model_free(handle);
  }
}

/** The status of a node that ran; other nodes were optimized away or not reached. */
const EXECUTED = 2;

/** The time that a node of a compiled model took. */
interface NodeTime {
  readonly node: string;
  /** The library's name for the operation. */
  readonly op: string;
  /** The library's name for the kernel, such as brgemm_avx512_bf16. */
  readonly kernel: string;
  readonly microseconds: number;
}

/** An inference request: the tensors of a model's inputs and outputs, bound once for many runs. */
export class NativeRequest extends NativeResource {
  readonly #library: OpenVinoLibrary;
  #inFlight: Promise<void> | undefined;

  constructor({ library, ledger, handle }: NativeModel) {
    const { functions, make } = library;
    super(
      "request",
      make("request", (out) => functions.ov_compiled_model_create_infer_request(handle, out)),
      ledger,
    );
    this.#library = library;
  }

  /** Binds an input or output; the library keeps the memory until another tensor is bound. */
  bind(name: string, tensor: NativeTensor): void {
    this.assertIdle();
    // The library refuses some empty tensors, and needs none.
    if (tensor.byteLength === 0) return;
    const { functions, check } = this.#library;
    check(functions.ov_infer_request_set_tensor(this.handle, name, tensor.handle), `binding ${name}`);
  }

  /** Runs on this thread and blocks it. @throws MP_BACKEND_FAILED or a more specific code */
  runSync(): void {
    this.assertIdle();
    const { functions, check } = this.#library;
    check(functions.ov_infer_request_infer(this.handle), "run");
  }

  /**
   * Runs on the library's own threads, so that the event loop stays free; a worker thread only waits. (Runs on
   * changing worker threads would leak 9 KB or more each.)
   */
  runAsync(): Promise<void> {
    this.assertIdle();
    const { functions, check } = this.#library;
    const run = settle(this.#library, "run", (done) => {
      check(functions.ov_infer_request_start_async(this.handle), "run");
      functions.ov_infer_request_wait.async(this.handle, done);
    }).finally(() => {
      this.#inFlight = undefined;
    });
    this.#inFlight = run;
    return run;
  }

  /** The times of the last run, by node of the compiled model; needs a model compiled with counters. */
  times(): readonly NodeTime[] {
    this.assertIdle();
    const { functions, check } = this.#library;
    const out = [{ infos: 0n, size: 0n }] as Parameters<
      typeof functions.ov_infer_request_get_profiling_info
    >[1];
    check(functions.ov_infer_request_get_profiling_info(this.handle, out), "profile");
    const [counters] = out;
    try {
      const read = koffi.decode(counters.infos, COUNTER, Number(counters.size)) as readonly NativeCounter[];
      return read
        .filter(({ status }) => status === EXECUTED)
        .map(({ nodeName, nodeType, execType, realTime }) => ({
          node: nodeName,
          op: nodeType,
          kernel: execType,
          microseconds: Number(realTime),
        }));
    } finally {
      functions.ov_profiling_info_list_free(counters);
    }
  }

  override async whenIdle(): Promise<void> {
    await this.#inFlight?.catch(() => {});
  }

  protected override assertIdle(): void {
    if (this.#inFlight !== undefined)
      throw new MpError("MP_INVALID_ARGUMENT", "request: a run of it is in flight, wait for it first");
  }

  protected free(handle: bigint): void {
    this.#library.functions.ov_infer_request_free(handle);
  }
}

type Start = (done: (error: Error | null, status: number) => void) => void;

/** Calls on a worker thread. The library keeps one last error for all threads, so it is read at once. */
function settle({ check }: OpenVinoLibrary, what: string, start: Start): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error, status) => {
      try {
        if (error !== null) throw error;
        check(status, what);
        resolve();
      } catch (failure) {
        reject(failure);
      }
    });
  });
}

/** Properties for compiling a model, by the library's names. */
export type Properties = Readonly<Record<string, string>>;

/**
 * Reads and compiles an ONNX model on a worker thread.
 * @throws MP_UNSUPPORTED, MP_BACKEND_FAILED or MP_OUT_OF_MEMORY with the library's reason
 */
export async function compileModel(
  library: OpenVinoLibrary,
  ledger: Ledger,
  core: bigint,
  bytes: Uint8Array,
  properties: Properties,
): Promise<NativeModel> {
  const { functions } = library;
  const read: Out = [null];
  await settle(library, "reading the model", (done) =>
    functions.ov_core_read_model_from_memory_buffer.async(core, bytes, bytes.length, null, read, done),
  );
  const model = read[0] as bigint;
  const compiled: Out = [null];
  try {
    const given = Object.entries(properties).map(([key, value]) => ({ key, value }));
    await settle(library, "compiling the model", (done) =>
      functions.ov_core_compile_model_props.async(core, model, "CPU", given.length, given, compiled, done),
    );
  } finally {
    functions.ov_model_free(model);
  }
  return new NativeModel(library, ledger, compiled[0] as bigint);
}
