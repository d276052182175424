/**
 * The interface between core and engines. A backend gets valid, self-contained graphs whose nodes are in execution
 * order, and keeps the state on the device. It decides nothing: whether a step commits is an output of the graph.
 */
import type { Graph, ValueType } from "../graph/graph.js";
import type { HostTensor } from "../host/host-tensor.js";
import type { BackendManifest } from "./manifest.js";

/** A degradation that does not stop the run. Show it to the user once; the library does not print it. */
export interface BackendWarning {
  readonly type: "emulated" | "fallback" | "performance";
  readonly message: string;
}

/** A tensor in the engine's memory. Opaque: only its own backend can use it. */
export interface Handle extends ValueType {
  /** Frees the tensor. Using or disposing it again throws MP_DISPOSED. */
  dispose(): void;
}

/**
 * Named tensors that live in the engine between runs and are shared by every executable compiled for the state: train,
 * accumulate, evaluate, each for several batch shapes.
 */
export interface State {
  readonly types: Readonly<Record<string, ValueType>>;
  /**
   * Copies of the committed values, in the order of `names`; by default all values, in the order passed to
   * `createState`. Names that look like integers come first, as in every object.
   */
  read(names?: readonly string[]): Promise<Readonly<Record<string, HostTensor>>>;
  /**
   * Replaces the named values: all of them, or none if a value does not fit. @throws MP_SHAPE_MISMATCH,
   * MP_DTYPE_MISMATCH, MP_INVALID_ARGUMENT for a constant state
   */
  write(values: Readonly<Record<string, HostTensor>>): Promise<void>;
  /**
   * Calls `change` with the engine's own memory of these slots, which are one group of `adjacent`. The array holds
   * their committed values in the group's order, each from a multiple of 64 bytes on, with arbitrary values in the
   * gaps. The call waits its turn, and nothing else uses the state until the promise of `change` settles; do not use
   * the array after that. If `change` fails, what it has written stays. Present if the engine's memory is the host's.
   * @throws MP_INVALID_ARGUMENT for slots that are not such a group, or a constant state
   */
  inPlace?(slots: readonly string[], change: (values: Float32Array) => Promise<void>): Promise<void>;
  dispose(): Promise<void>;
}

/** Options of a state. */
export interface StateOptions {
  /**
   * Groups of f32 slots that `inPlace` passes as one array. A slot is in at most one group. Default none. An engine
   * without `inPlace` may ignore them.
   */
  readonly adjacent?: readonly (readonly string[])[];
  /**
   * Whether the values never change: nothing writes them, and no output replaces a slot. An engine may then fold them
   * at compilation, and so round results differently than with a changing state. Default false.
   */
  readonly constant?: boolean;
}

/** Binds a graph input to a slot of the state, and says which output replaces the slot, and when. */
export interface StateBinding {
  readonly slot: string;
  readonly input: string;
  /** If omitted, the graph only reads the slot. */
  readonly output?: string;
  /** `when-applied`: only when the graph's `applied` output is true; otherwise the slot keeps its bits. */
  readonly commit?: "always" | "when-applied";
}

export interface CompileOptions {
  /** The state that the executable reads and updates; default none. */
  readonly state?: State;
  /** The inputs that read slots of that state, and the outputs that replace slots; default none. */
  readonly bindings?: readonly StateBinding[];
  /** Name of the bool scalar output that decides whether the `when-applied` slots are replaced. */
  readonly applied?: string;
}

export type RunInput = HostTensor | Handle;

/**
 * A tensor of an engine's own library (a `tf.Tensor`), which a batch may hold if the backend has `adopt`. Only the
 * backend knows its real type; a backend that does not recognize it rejects it.
 */
export interface EngineTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  dispose(): void;
}

export interface ProfileRow {
  /** The graph node's name, or the engine's own name for work that belongs to no node. */
  readonly node: string;
  readonly op: string;
  readonly microseconds: number;
  readonly calls: number;
}

export interface MemoryReport {
  /** Peak bytes held by the engine since compilation, including the state. */
  readonly peakBytes: number;
}

export interface Executable {
  readonly warnings: readonly BackendWarning[];
  /**
   * Runs once. `inputs` holds every graph input that is not bound to the state. Resolves to copies of the outputs that
   * are not bound, in the graph's order, after the state has been committed. Runs on one state are serialized. A failed
   * run leaves the state unchanged, unless the manifest says that runs overwrite it (`failedRuns`).
   */
  run(inputs: Readonly<Record<string, RunInput>>): Promise<Readonly<Record<string, HostTensor>>>;
  /** Runs once with the engine's profiler on. Present if the manifest declares `profile`. */
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
  createState(values: Readonly<Record<string, HostTensor>>, options?: StateOptions): Promise<State>;
  upload(tensor: HostTensor): Promise<Handle>;
  download(handle: Handle): Promise<HostTensor>;
  /**
   * Lets a batch hold the engine library's own tensors. Called synchronously at every step for each leaf of a batch
   * that core does not recognize: an instance of a class that is not an array. Returns the input that `run` takes in
   * place of the leaf, or undefined if the engine does not know the value. Adopting does not copy, and does not count
   * in `stats`. The caller owns the value: keep it unchanged until the call that it was passed to resolves, then free
   * it. Core does not dispose of it. Present if the manifest declares `adopt`. @throws MP_DISPOSED for a tensor that
   * has been disposed, MP_UNSUPPORTED for a dtype that the engine lacks
   */
  adopt?(value: object): RunInput | undefined;
  stats(): BackendStats;
  /** Frees everything the backend holds. Idempotent; any other use afterwards throws MP_DISPOSED. */
  dispose(): Promise<void>;
}
