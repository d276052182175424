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
import { type Graph, validateGraph } from "@mp/core/graph";
import { ConstantPool } from "./constant-pool.js";
import { emulatedAmong } from "./dtype.js";
import { OrtExecutable } from "./executable.js";
import { lowerGraph } from "./lower.js";
import type { NativeRuntime, NativeTensor } from "./native/index.js";
import type { Findings } from "./probe/findings.js";
import { OrtState } from "./state.js";
import type { Target } from "./target.js";

/** What to do about speed where a half is emulated. */
const SPEED = "for speed use CUDA, or @mp/backend-tfjs on a CPU with bf16 units";

/** ONNX Runtime as a backend: graphs become sessions, state stays in ORT's memory. */
export class OrtBackend implements Backend {
  readonly name = "ort";
  readonly specVersion = "v1";
  readonly manifest: BackendManifest;
  readonly #runtime: NativeRuntime;
  readonly #states = new Set<OrtState>();
  readonly #executables = new Set<OrtExecutable>();
  readonly #target: Target;
  readonly #handles = new HandleTable<NativeTensor>("ort", (tensor) => tensor.release());
  readonly #constants: ConstantPool;
  #disposal: Promise<void> | undefined;

  constructor(runtime: NativeRuntime, manifest: BackendManifest, findings: Findings) {
    this.#runtime = runtime;
    this.#constants = new ConstantPool(runtime);
    this.manifest = manifest;
    const { nativeHalves, widened, blockSize, castsThroughDoubles } = findings;
    const emulated = emulatedAmong(nativeHalves);
    this.#target = { device: runtime.device, emulated, widened, blockSize, castsThroughDoubles };
  }

  async compile(graph: Graph, options: CompileOptions = {}): Promise<Executable> {
    this.#expectAlive();
    validateGraph(graph);
    expectGraphSupported(this.name, this.manifest, graph);
    const state = options.state === undefined ? undefined : this.#own(options.state);
    const bound = resolveBindings(graph, state?.types, options);
    const lowered = lowerGraph(graph, this.#target);
    const session = await this.#runtime.createSession(lowered.model);
    try {
      this.#expectAlive();
      state?.expectAlive();
    } catch (error) {
      if (!session.isReleased) session.release();
      throw error;
    }
    const executable = new OrtExecutable({
      runtime: this.#runtime,
      graph,
      lowered,
      session,
      bound,
      state,
      warnings: emulationWarnings(this.name, this.manifest, graph, SPEED),
      handles: this.#handles,
      constants: this.#constants,
      onDispose: (gone) => this.#executables.delete(gone),
    });
    this.#executables.add(executable);
    return executable;
  }

  async createState(values: Readonly<Record<string, HostTensor>>): Promise<State> {
    this.#expectAlive();
    const checked = expectStateSupported(this.name, this.manifest, values);
    const state = new OrtState(this.#runtime, checked, (gone) => this.#states.delete(gone));
    this.#states.add(state);
    return state;
  }

  async upload(tensor: HostTensor): Promise<Handle> {
    this.#expectAlive();
    const value = expectHostTensor("upload", tensor);
    expectDTypeSupported(this.name, this.manifest, value, "upload");
    return this.#handles.issue(this.#runtime.upload(value));
  }

  async download(handle: Handle): Promise<HostTensor> {
    this.#expectAlive();
    const held = this.#handles.find(handle);
    if (held === undefined)
      throw new MpError("MP_INVALID_ARGUMENT", "download: takes a handle of this backend");
    return held.read();
  }

  stats(): BackendStats {
    this.#expectAlive();
    return {
      live: this.#states.size + this.#executables.size + this.#handles.size,
      bytes: this.#runtime.stats().bytes,
    };
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#disposeAll();
    return this.#disposal;
  }

  async #disposeAll(): Promise<void> {
    // All of them refuse further calls from here on, before anything is awaited.
    await Promise.all([...this.#executables, ...this.#states].map((owned) => owned.dispose()));
    this.#handles.disposeAll();
    await this.#runtime.dispose();
  }

  #own(state: State): OrtState {
    if (!(state instanceof OrtState) || (!this.#states.has(state) && !state.isDisposed)) {
      throw new MpError("MP_INVALID_ARGUMENT", "compile: the state belongs to another backend");
    }
    state.expectAlive();
    return state;
  }

  #expectAlive(): void {
    if (this.#disposal !== undefined) throw new MpError("MP_DISPOSED", "ort: the backend has been disposed");
  }
}
