import type { Backend, BackendStats, CompileOptions, Executable, Handle, State } from "../backend.js";
import { MpError } from "../errors.js";
import type { Graph } from "../graph/graph.js";
import { validateGraph } from "../graph/validate.js";
import type { HostTensor } from "../host-tensor.js";
import type { BackendManifest } from "../manifest.js";
import { resolveBindings } from "./bindings.js";
import { checkKernels } from "./check-kernels.js";
import { expectHostTensor } from "./check-tensor.js";
import { emulationWarnings } from "./emulation-warnings.js";
import { Engine, type StorageFunctions } from "./engine.js";
import { KernelExecutable } from "./executable.js";
import { HandleTable } from "./handle-table.js";
import type { KernelTable, KernelTensor } from "./kernel.js";
import {
  deriveManifest,
  expectDTypeSupported,
  expectGraphSupported,
  expectStateSupported,
  type KernelManifest,
} from "./manifest.js";
import { planOf } from "./plan.js";
import { KernelState } from "./state.js";

export interface KernelBackendOptions<T> extends StorageFunctions<T> {
  readonly name: string;
  readonly manifest: KernelManifest;
  /**
   * The backend's kernels. `Identity`, `Barrier` and `Constant` need none: a constant's value is uploaded once per
   * executable. A kernel for one of them replaces this; that of `Constant` is called at compilation.
   */
  readonly kernels: KernelTable<T>;
  /** `Backend.adopt` for the author's own tensors: a host view of one, or undefined for anything else. */
  readonly adopt?: (value: object) => HostTensor | undefined;
  /** Called once, after everything the backend held has been released. */
  readonly close?: () => void | Promise<void>;
}

/**
 * Makes a backend from a table of kernels over a storage type that the author chooses. It adds the checks of arguments,
 * execution order, release of storages, state with commit and rollback, and the manifest. A wrong result of a kernel,
 * `upload` or `download` throws MP_BACKEND_FAILED with its name.
 * @throws MP_INVALID_ARGUMENT for rows of unknown operators or dtypes
 */
export function kernelBackend<T>(options: KernelBackendOptions<T>): Backend {
  checkKernels(options);
  return new KernelBackend(options);
}

class KernelBackend<T> implements Backend {
  readonly name: string;
  readonly specVersion = "v1";
  readonly manifest: BackendManifest;
  readonly #engine: Engine<T>;
  readonly #handles: HandleTable<KernelTensor<T>>;
  readonly #states = new Map<State, KernelState<T>>();
  readonly #executables = new Set<Executable>();
  /** Pending calls that use the author's storages. */
  readonly #unsettled = new Set<Promise<unknown>>();
  readonly #close: (() => void | Promise<void>) | undefined;
  /** Present only if the author has one. */
  readonly adopt?: (value: object) => HostTensor | undefined;
  #disposal: Promise<void> | undefined;

  constructor(options: KernelBackendOptions<T>) {
    const kernels: KernelTable<T> = {
      Identity: ([x]) => (x === undefined ? [] : [x.data]),
      Barrier: ([x]) => (x === undefined ? [] : [x.data]),
      ...options.kernels,
    };
    this.name = options.name;
    this.manifest = {
      ...deriveManifest(options.manifest, (op) => op === "Constant" || kernels[op] !== undefined),
      adopt: options.adopt === undefined ? { unsupported: "it takes no tensors of a library's" } : true,
    };
    this.#engine = new Engine(options.name, this.manifest, kernels, options);
    this.#handles = new HandleTable(options.name, ({ data }) => this.#engine.pool.drop(data));
    this.#close = options.close;
    if (options.adopt !== undefined) this.adopt = options.adopt;
  }

  compile(graph: Graph, options: CompileOptions = {}): Promise<Executable> {
    return this.#settling(this.#compile(graph, options));
  }

  createState(values: Readonly<Record<string, HostTensor>>): Promise<State> {
    return this.#settling(this.#createState(values));
  }

  upload(tensor: HostTensor): Promise<Handle> {
    return this.#settling(this.#upload(tensor));
  }

  download(handle: Handle): Promise<HostTensor> {
    return this.#settling(this.#download(handle));
  }

  async #compile(graph: Graph, options: CompileOptions): Promise<Executable> {
    this.#expectAlive();
    validateGraph(graph);
    expectGraphSupported(this.name, this.manifest, graph);
    const state = options.state === undefined ? undefined : this.#own(options.state);
    const executable: Executable = await KernelExecutable.create({
      engine: this.#engine,
      handles: this.#handles,
      plan: planOf(graph),
      bound: resolveBindings(graph, state?.types, options),
      state,
      warnings: emulationWarnings(this.name, this.manifest, graph),
      onDispose: () => this.#executables.delete(executable),
    });
    this.#executables.add(executable);
    return this.#unlessDisposed(executable);
  }

  async #createState(values: Readonly<Record<string, HostTensor>>): Promise<State> {
    this.#expectAlive();
    const checked = expectStateSupported(this.name, this.manifest, values);
    const state: KernelState<T> = await KernelState.create(this.#engine, checked, () => {
      this.#states.delete(state);
    });
    this.#states.set(state, state);
    return this.#unlessDisposed(state);
  }

  async #upload(tensor: HostTensor): Promise<Handle> {
    this.#expectAlive();
    const checked = expectHostTensor("upload: the tensor", tensor);
    expectDTypeSupported(this.name, this.manifest, checked, "the tensor");
    const type = { dtype: checked.dtype, shape: Object.freeze([...checked.shape]) };
    const handle = this.#handles.issue({ ...type, data: await this.#engine.upload(checked) });
    return this.#unlessDisposed(handle);
  }

  async #download(handle: Handle): Promise<HostTensor> {
    this.#expectAlive();
    const held = this.#handles.find(handle);
    if (held === undefined)
      throw new MpError("MP_INVALID_ARGUMENT", "download: takes a handle of this backend");
    return this.#engine.download(held.data, held);
  }

  stats(): BackendStats {
    this.#expectAlive();
    return {
      live: this.#handles.size + this.#states.size + this.#executables.size,
      bytes: this.#engine.pool.bytes,
    };
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#disposeAll();
    return this.#disposal;
  }

  async #disposeAll(): Promise<void> {
    // From here on all of them reject further calls, before anything is awaited.
    const owned = [...this.#executables, ...this.#states.values()].map((one) => one.dispose());
    // Objects under construction free themselves once they find the backend disposed; the author's close comes after
    // that.
    await Promise.allSettled(this.#unsettled);
    await Promise.all(owned);
    this.#handles.disposeAll();
    await this.#close?.();
  }

  #own(state: State): KernelState<T> {
    const own = this.#states.get(state);
    if (own !== undefined && !own.isDisposed) return own;
    if (state instanceof KernelState && state.isDisposed) throw this.#engine.disposed("the state");
    throw new MpError("MP_INVALID_ARGUMENT", `${this.name}: the state belongs to another backend`);
  }

  #settling<R>(call: Promise<R>): Promise<R> {
    this.#unsettled.add(call);
    const settled = (): void => void this.#unsettled.delete(call);
    call.then(settled, settled);
    return call;
  }

  /** Frees an object that was made while the backend was being disposed. */
  async #unlessDisposed<R extends { dispose(): unknown }>(made: R): Promise<R> {
    if (this.#disposal === undefined) return made;
    await made.dispose();
    throw this.#engine.disposed("the backend");
  }

  #expectAlive(): void {
    if (this.#disposal !== undefined) throw this.#engine.disposed("the backend");
  }
}
