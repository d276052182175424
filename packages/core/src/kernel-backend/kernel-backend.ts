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
   * What the backend can compute. `Identity` and `Barrier` need no kernel, nor does `Constant`, whose value is
   * uploaded once per executable; a kernel for one of these is used instead, `Constant`'s at compilation.
   */
  readonly kernels: KernelTable<T>;
  /** `Backend.adopt` for the author's own tensors: a view of one in host form, or undefined for anything else. */
  readonly adopt?: (value: object) => HostTensor | undefined;
  /** Called once, after everything the backend held has been released. */
  readonly close?: () => void | Promise<void>;
}

/**
 * A whole backend from a table of kernels over a storage type of the author's choice: checks at the edge, schedule,
 * release of what is no longer needed, state with commit and roll-back, and the manifest are done here. What a kernel,
 * `upload` or `download` gives that is not what it has to is MP_BACKEND_FAILED, with its name.
 * @throws MP_INVALID_ARGUMENT for rows of operators or dtypes that there are not
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
  /** Calls under way that use the author's storages. */
  readonly #unsettled = new Set<Promise<unknown>>();
  readonly #close: (() => void | Promise<void>) | undefined;
  /** There only where the author has one. */
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
    // What was being made frees itself once it finds the backend disposed, and the author's close comes after that.
    await Promise.allSettled(this.#unsettled);
    await Promise.all([...this.#executables].map((executable) => executable.dispose()));
    await Promise.all([...this.#states.values()].map((state) => state.dispose()));
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

  /** Frees what was made while the backend was being disposed. */
  async #unlessDisposed<R extends { dispose(): unknown }>(made: R): Promise<R> {
    if (this.#disposal === undefined) return made;
    await made.dispose();
    throw this.#engine.disposed("the backend");
  }

  #expectAlive(): void {
    if (this.#disposal !== undefined) throw this.#engine.disposed("the backend");
  }
}
