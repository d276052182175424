import { type Backend, type BackendManifest, type HostTensor, MpError } from "@mp/core";
import {
  type BackendStats,
  type CompileOptions,
  type Executable,
  emulationWarnings,
  expectDTypeSupported,
  expectGraphSupported,
  expectHostTensor,
  expectStateSupported,
  type Handle,
  HandleTable,
  resolveBindings,
  type State,
} from "@mp/core/backend";
import { type AnyNode, byteLength, type Graph, validateGraph } from "@mp/core/graph";
import { adoptTensor, isTfTensor } from "./adopt.js";
import { TfjsExecutable } from "./executable.js";
import { lowerProgram } from "./graph/program.js";
import type { TensorFlow } from "./load/index.js";
import { ProgramSet } from "./session/program-set.js";
import { TfjsState } from "./state.js";
import { type Uploaded, uploaded } from "./uploaded.js";

export interface Engine {
  readonly tensorFlow: TensorFlow;
  readonly manifest: BackendManifest;
  /** Whether a node is computed in f32 because the engine has no correct kernel for its halves. */
  readonly isWidened: (node: AnyNode) => boolean;
}

/** TensorFlow as a backend: graphs become SavedModels, state is their variables. */
export class TfjsBackend implements Backend {
  readonly name = "tfjs";
  readonly specVersion = "v1";
  readonly manifest: BackendManifest;
  readonly #engine: Engine;
  readonly #states = new Set<TfjsState>();
  readonly #executables = new Set<TfjsExecutable>();
  readonly #handles = new HandleTable<Uploaded>("tfjs", (tensor) => this.#release(tensor));
  #uploadedBytes = 0;
  #disposal: Promise<void> | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.manifest = engine.manifest;
  }

  async compile(graph: Graph, options: CompileOptions = {}): Promise<Executable> {
    this.#expectAlive();
    validateGraph(graph);
    expectGraphSupported(this.name, this.manifest, graph);
    const state = options.state === undefined ? undefined : this.#own(options.state);
    const bound = resolveBindings(graph, state?.types, options);
    const { binding } = this.#engine.tensorFlow;
    const programs = state?.programs ?? new ProgramSet(binding);
    const program = lowerProgram(graph, {
      scope: programs.nextScope(),
      bound,
      handleOf: (slot) => programs.handleOf(slot),
      isWidened: this.#engine.isWidened,
    });
    const executable = new TfjsExecutable({
      binding,
      graph,
      program,
      programs,
      bound,
      state,
      warnings: emulationWarnings(this.name, this.manifest, graph),
      handles: this.#handles,
      onDispose: (gone) => this.#executables.delete(gone),
    });
    this.#executables.add(executable);
    return executable;
  }

  async createState(values: Readonly<Record<string, HostTensor>>): Promise<State> {
    this.#expectAlive();
    const checked = expectStateSupported(this.name, this.manifest, values);
    const state = new TfjsState(this.#engine.tensorFlow.binding, checked, (gone) =>
      this.#states.delete(gone),
    );
    this.#states.add(state);
    return state;
  }

  async upload(tensor: HostTensor): Promise<Handle> {
    this.#expectAlive();
    const value = expectHostTensor("upload", tensor);
    expectDTypeSupported(this.name, this.manifest, value, "upload");
    const held = this.#handles.issue(uploaded(this.#engine.tensorFlow.binding, value));
    this.#uploadedBytes += byteLength(held);
    return held;
  }

  async download(handle: Handle): Promise<HostTensor> {
    this.#expectAlive();
    const held = this.#handles.find(handle);
    if (held === undefined)
      throw new MpError("MP_INVALID_ARGUMENT", "download: takes a handle of this backend");
    return held.read();
  }

  adopt(value: object): HostTensor | undefined {
    return isTfTensor(value) ? adoptTensor(value) : undefined;
  }

  stats(): BackendStats {
    this.#expectAlive();
    const bytes = [...this.#states].reduce((sum, state) => sum + state.bytes, this.#uploadedBytes);
    return { live: this.#states.size + this.#executables.size + this.#handles.size, bytes };
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#disposeAll();
    return this.#disposal;
  }

  async #disposeAll(): Promise<void> {
    // States first: their programs then have no values to save. All of them refuse further calls from here on, before
    // anything is awaited.
    await Promise.all([...this.#states, ...this.#executables].map((owned) => owned.dispose()));
    this.#handles.disposeAll();
  }

  #release(tensor: Uploaded): void {
    this.#uploadedBytes -= byteLength(tensor);
    tensor.wire?.release();
  }

  #own(state: State): TfjsState {
    if (!(state instanceof TfjsState) || (!this.#states.has(state) && !state.isDisposed)) {
      throw new MpError("MP_INVALID_ARGUMENT", "compile: the state belongs to another backend");
    }
    state.expectAlive();
    return state;
  }

  #expectAlive(): void {
    if (this.#disposal !== undefined) throw new MpError("MP_DISPOSED", "tfjs: the backend has been disposed");
  }
}
