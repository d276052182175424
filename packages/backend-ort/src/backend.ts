import {
  type Backend,
  type BackendManifest,
  type BackendStats,
  type BackendWarning,
  type CompileOptions,
  type Executable,
  type Graph,
  type Handle,
  type HostTensor,
  MpError,
  type State,
  unsupportedReason,
} from "@mp/core";
import {
  expectDTypeSupported,
  expectGraphSupported,
  expectHostTensor,
  resolveBindings,
  validateGraph,
} from "@mp/core/backend";
import { OrtExecutable } from "./executable.js";
import { lowerGraph } from "./lower.js";
import type { NativeRuntime, NativeTensor } from "./native/index.js";
import { OrtState } from "./state.js";

/** ONNX Runtime as a backend: graphs become sessions, state stays in ORT's memory. */
export class OrtBackend implements Backend {
  readonly name = "ort";
  readonly specVersion = "v1";
  readonly manifest: BackendManifest;
  readonly #runtime: NativeRuntime;
  readonly #states = new Set<OrtState>();
  readonly #executables = new Set<OrtExecutable>();
  /** Handles given out, the released ones too, so that using one says so. */
  readonly #handles = new Map<object, NativeTensor>();
  #disposal: Promise<void> | undefined;

  constructor(runtime: NativeRuntime, manifest: BackendManifest) {
    this.#runtime = runtime;
    this.manifest = manifest;
  }

  async compile(graph: Graph, options: CompileOptions = {}): Promise<Executable> {
    this.#expectAlive();
    validateGraph(graph);
    expectGraphSupported(this.name, this.manifest, graph);
    const state = options.state === undefined ? undefined : this.#own(options.state);
    const bound = resolveBindings(graph, state?.types, options);
    const lowered = lowerGraph(graph, this.manifest);
    const session = await this.#runtime.createSession(lowered.model);
    const executable = new OrtExecutable({
      runtime: this.#runtime,
      graph,
      lowered,
      session,
      bound,
      state,
      warnings: emulationWarnings(graph, this.manifest),
      handles: this.#handles,
      onDispose: (gone) => this.#executables.delete(gone),
    });
    this.#executables.add(executable);
    return executable;
  }

  async createState(values: Readonly<Record<string, HostTensor>>): Promise<State> {
    this.#expectAlive();
    for (const [name, value] of Object.entries(values)) {
      expectDTypeSupported(
        this.name,
        this.manifest,
        expectHostTensor(`state "${name}"`, value),
        `state "${name}"`,
      );
    }
    const state = new OrtState(this.#runtime, values, (gone) => this.#states.delete(gone));
    this.#states.add(state);
    return state;
  }

  async upload(tensor: HostTensor): Promise<Handle> {
    this.#expectAlive();
    const value = expectHostTensor("upload", tensor);
    expectDTypeSupported(this.name, this.manifest, value, "upload");
    const native = this.#runtime.upload(value);
    const { dtype, shape } = native;
    const handle: Handle = Object.freeze({ dtype, shape, dispose: () => native.release() });
    this.#handles.set(handle, native);
    return handle;
  }

  async download(handle: Handle): Promise<HostTensor> {
    this.#expectAlive();
    const native = this.#handles.get(handle);
    if (native === undefined)
      throw new MpError("MP_INVALID_ARGUMENT", "download: the handle belongs to another backend");
    return native.read();
  }

  stats(): BackendStats {
    const handles = [...this.#handles.values()].filter((native) => !native.isReleased).length;
    return {
      live: this.#states.size + this.#executables.size + handles,
      bytes: this.#disposal === undefined ? this.#runtime.stats().bytes : 0,
    };
  }

  dispose(): Promise<void> {
    this.#disposal ??= (async () => {
      for (const executable of [...this.#executables]) await executable.dispose();
      for (const state of [...this.#states]) await state.dispose();
      for (const native of this.#handles.values()) if (!native.isReleased) native.release();
      await this.#runtime.dispose();
    })();
    return this.#disposal;
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

/** One warning per half that the graph computes in and the engine only emulates. */
function emulationWarnings(graph: Graph, manifest: BackendManifest): readonly BackendWarning[] {
  const used = new Set(graph.nodes.flatMap((node) => node.outputs.map((output) => output.dtype)));
  return (["f16", "bf16"] as const).flatMap((dtype) => {
    const support = manifest.dtypes[dtype];
    if (!used.has(dtype) || unsupportedReason(support) !== undefined) return [];
    if (!("compute" in support) || support.compute === "native") return [];
    const { name, version } = manifest.engine;
    return [
      {
        type: "emulated" as const,
        message: `${dtype} is emulated by ${name} ${version} on ${manifest.device}: exact results, no speed-up and more memory; for speed use CUDA, or @mp/backend-tfjs on a CPU with bf16 units`,
      },
    ];
  });
}
