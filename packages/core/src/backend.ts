/**
 * The seam between core and engines. A backend gets valid, closed graphs in the order in which they are to
 * run, keeps state where it lives, and never decides anything: what commits is an output of the graph.
 */
import type { Graph, ValueType } from "./graph/graph.js";
import type { HostTensor } from "./host-tensor.js";
import type { BackendManifest } from "./manifest.js";

/** Soft degradation as data: shown to the user once, never printed by a library. */
export interface BackendWarning {
  readonly type: "emulated" | "fallback" | "performance";
  readonly message: string;
}

/** A tensor in the engine's memory. Opaque: only its own backend can use it. */
export interface Handle extends ValueType {
  /** Frees it; using it afterwards is MP_DISPOSED, as is disposing it twice. */
  dispose(): void;
}

/**
 * Named tensors that live in the engine between runs and are shared by every executable compiled for them:
 * train, accumulate, evaluate, each for several batch shapes.
 */
export interface State {
  readonly types: Readonly<Record<string, ValueType>>;
  /** Copies of the committed values; all of them when names are left out. */
  read(names?: readonly string[]): Promise<Readonly<Record<string, HostTensor>>>;
  /** Replaces the named values, all or (when one does not fit) none. @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH */
  write(values: Readonly<Record<string, HostTensor>>): Promise<void>;
  dispose(): Promise<void>;
}

/** Binds a graph input to a slot of the state and says which output replaces it, and when. */
export interface StateBinding {
  readonly slot: string;
  readonly input: string;
  /** Left out: the graph only reads the slot. */
  readonly output?: string;
  /** `when-applied`: only when the graph's `applied` output is true; otherwise the slot keeps its bits. */
  readonly commit?: "always" | "when-applied";
}

export interface CompileOptions {
  readonly state?: State;
  readonly bindings?: readonly StateBinding[];
  /** Name of the bool scalar output that decides the `when-applied` group. */
  readonly applied?: string;
}

export type RunInput = HostTensor | Handle;

/**
 * A tensor of an engine's own library (a `tf.Tensor`), as a batch may hold it where the backend adopts such tensors.
 * Only the backend knows what it really is, and one that does not know it refuses it.
 */
export interface EngineTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  dispose(): void;
}

export interface ProfileRow {
  /** The graph node's name, or the engine's own for work that belongs to no node. */
  readonly node: string;
  readonly op: string;
  readonly microseconds: number;
  readonly calls: number;
}

export interface MemoryReport {
  /** Most bytes the engine held at once since compilation, state included. */
  readonly peakBytes: number;
}

export interface Executable {
  readonly warnings: readonly BackendWarning[];
  /**
   * Runs once. `inputs` holds every graph input that no binding feeds. Resolves to copies of the outputs that no
   * binding takes, after the state has been committed. One run at a time per state; a second waits its turn.
   * A failed run leaves the state as it was.
   */
  run(inputs: Readonly<Record<string, RunInput>>): Promise<Readonly<Record<string, HostTensor>>>;
  /** Runs once with the engine's profiler on. Present when the manifest says so. */
  profile?(inputs: Readonly<Record<string, RunInput>>): Promise<readonly ProfileRow[]>;
  memory?(): MemoryReport;
  dispose(): Promise<void>;
}

export interface BackendStats {
  /** Handles, states and executables that have not been disposed. */
  readonly live: number;
  readonly bytes: number;
}

export interface Backend {
  readonly name: string;
  readonly specVersion: "v1";
  readonly manifest: BackendManifest;
  /** @throws MP_UNSUPPORTED, before anything runs, for an op or dtype that the manifest calls unsupported */
  compile(graph: Graph, options?: CompileOptions): Promise<Executable>;
  createState(values: Readonly<Record<string, HostTensor>>): Promise<State>;
  upload(tensor: HostTensor): Promise<Handle>;
  download(handle: Handle): Promise<HostTensor>;
  /**
   * Lets the engine library's own tensors stand in a batch. Asked, synchronously and at every step, for each leaf of a
   * batch that core does not know: an instance of a class that is no array. Gives what `run` will take in its place,
   * or undefined for what is not the engine's. Neither copies nor counts in `stats`: the value is its owner's, who
   * keeps it as it is until the call it was given to resolves, and frees it; core disposes of nothing. Present when the
   * manifest says so. @throws MP_DISPOSED for a tensor that is gone, MP_UNSUPPORTED for a dtype that the engine lacks
   */
  adopt?(value: object): RunInput | undefined;
  stats(): BackendStats;
  /** Frees everything the backend holds. Idempotent; any other use afterwards is MP_DISPOSED. */
  dispose(): Promise<void>;
}
