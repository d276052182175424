import { type HostTensor, MpError, type ValueType } from "@mp/graph";
import { Ledger, type LiveStats } from "@mp/graph/internal";
import type { Storage } from "@mp/onnx-lowering";
import { allocateAdjacent, type EngineMemory } from "@mp/onnx-lowering/program";
import { loadLibrary, type OpenVinoLibrary } from "./library.js";
import { compileModel, type NativeModel, NativeRequest, type Properties } from "./model.js";
import { ModelCache } from "./model-cache.js";
import { describeProcessor } from "./processor.js";
import { NativeTensor } from "./tensor.js";

export interface RuntimeOptions {
  readonly library: string;
  /** The version that the library must have. */
  readonly version: string;
  readonly threads?: number | undefined;
  readonly cache?: string | undefined;
}

export interface CompileOptions {
  /** Whether to use the cache for the model, if there is one. Default true. */
  readonly isKept?: boolean;
  /** Whether the model's runs measure the time of each node; such a model is not cached. Default false. */
  readonly hasCounters?: boolean;
}

const WITHOUT_SNIPPETS: Properties = { SNIPPETS_MODE: "DISABLE" };

/** OpenVINO's core on the processor: compiles models and allocates their tensors. */
export class NativeRuntime implements EngineMemory<NativeTensor> {
  readonly library: OpenVinoLibrary;
  /** Description of the processor by the library and the system. */
  readonly processor: string;
  readonly isOnHost = true;
  readonly #ledger = new Ledger();
  readonly #core: bigint;
  readonly #properties: Properties;
  readonly #cache: ModelCache | undefined;
  readonly #compiling = new Set<Promise<unknown>>();
  #isDisposed = false;

  constructor({ library, version, threads, cache }: RuntimeOptions) {
    this.library = loadLibrary(library, version);
    const { functions, make } = this.library;
    this.#core = make("core", (out) => functions.ov_core_create(out));
    try {
      this.processor = describeProcessor(this.library, this.#core);
      this.#cache =
        cache === undefined ? undefined : new ModelCache(cache, [this.library.build, this.processor]);
    } catch (error) {
      functions.ov_core_free(this.#core);
      throw error;
    }
    this.#properties = {
      // Otherwise the plugin chooses where it rounds.
      INFERENCE_PRECISION_HINT: "f32",
      EXECUTION_MODE_HINT: "ACCURACY",
      NUM_STREAMS: "1",
      ENABLE_CPU_PINNING: "NO",
      ...(threads === undefined ? {} : { INFERENCE_NUM_THREADS: String(threads) }),
    };
  }

  /**
   * Compiles a model, or reads it from the cache if there is one and `isKept` allows it.
   * @throws MP_UNSUPPORTED, MP_BACKEND_FAILED or MP_OUT_OF_MEMORY with the library's reason
   */
  async compile(model: Uint8Array, options: CompileOptions = {}): Promise<NativeModel> {
    this.#assertUsable();
    const compiling = this.hasSnippets
      ? this.#compile(model, {}, options).catch((error: unknown) => {
          // A chain that reads many scalars may need more registers than there are.
          if (!(error instanceof MpError) || !error.message.includes("snippet")) throw error;
          return this.#compile(model, WITHOUT_SNIPPETS, options);
        })
      : this.#compile(model, WITHOUT_SNIPPETS, options);
    this.#compiling.add(compiling);
    try {
      return await compiling;
    } finally {
      this.#compiling.delete(compiling);
    }
  }

  #compile(
    model: Uint8Array,
    added: Properties,
    { isKept = true, hasCounters = false }: CompileOptions,
  ): Promise<NativeModel> {
    const properties: Properties = {
      ...this.#properties,
      ...added,
      ...(hasCounters ? { PERF_COUNT: "YES" } : {}),
    };
    const compileIn = (folder: string | undefined): Promise<NativeModel> =>
      compileModel(this.library, this.#ledger, this.#core, model, {
        ...properties,
        ...(folder === undefined ? {} : { CACHE_DIR: folder }),
      });
    const cache = isKept && !hasCounters ? this.#cache : undefined;
    return cache === undefined
      ? compileIn(undefined)
      : cache.compile(model, JSON.stringify(properties), compileIn);
  }

  request(model: NativeModel): NativeRequest {
    this.#assertUsable();
    return new NativeRequest(model);
  }

  allocate(type: ValueType): NativeTensor {
    return this.#allocate(type);
  }

  allocateAdjacent(types: readonly ValueType[]): ReturnType<typeof allocateAdjacent<NativeTensor>> {
    return allocateAdjacent(types, (type, within) => this.#allocate(type, within));
  }

  upload(value: HostTensor): NativeTensor {
    const tensor = this.allocate(value);
    tensor.write(value);
    return tensor;
  }

  async expectSound(): Promise<void> {}

  stats(): LiveStats {
    return this.#ledger.stats();
  }

  /** Waits for compilations and runs in flight, then frees everything. */
  async dispose(): Promise<void> {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    await Promise.allSettled(this.#compiling);
    await this.#ledger.whenIdle();
    this.#ledger.releaseAll();
    this.library.functions.ov_core_free(this.#core);
  }

  #allocate(type: ValueType, within?: { whole: NativeTensor; offset: number }): NativeTensor {
    this.#assertUsable();
    const place = { library: this.library, ledger: this.#ledger, storage: this.storage };
    return new NativeTensor(type, within === undefined ? place : { ...place, within });
  }

  #assertUsable(): void {
    if (this.#isDisposed) throw new MpError("MP_DISPOSED", "OpenVINO: used after dispose");
  }

  /** Whether the library may fuse elementwise operators into generated code (snippets); set by the probe. */
  hasSnippets = false;

  /** How models store values; set after the probe. */
  storage: Storage = { storedType: (type) => type, stored: (value) => value, read: (value) => value };
}
