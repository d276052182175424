/**
 * The hooks that the author of a backend writes, and `defineBackend` calls with checked arguments. Hooks are called
 * in the order of the user's calls, and never for an object that has been disposed of. An error that a hook throws
 * reaches the user as MP_BACKEND_FAILED (or MP_OUT_OF_MEMORY) with the hook's name; an MpError is passed on as it is.
 */
import type { BackendWarning, MemoryReport, ProfileRow } from "../contract/backend.js";
import type { BackendManifest } from "../contract/manifest.js";
import type { Graph, ValueType } from "../graph/graph.js";
import type { HostTensor } from "../host/host-tensor.js";
import type { Bound } from "./bindings.js";

export type Awaitable<R> = R | Promise<R>;
export type Named<V> = Readonly<Record<string, V>>;

/** Transfers between the author's storage and the host. */
export interface StorageFunctions<T> {
  /** Returns a storage with a copy of the data, read before the first await; bools are 0 and 1. */
  readonly upload: (tensor: HostTensor) => Awaitable<T>;
  /** Returns a host copy of a storage, never the storage's own memory. */
  readonly download: (data: T, type: ValueType) => Awaitable<HostTensor>;
  /** Called once, after a storage's last use. If omitted, the garbage collector frees storages. */
  readonly release?: (data: T) => void;
  /** Bytes of a storage. Default: the number of elements times the size of the manifest's `storage` dtype. */
  readonly bytes?: (data: T, type: ValueType) => number;
}

/** Hooks of an engine that keeps states itself, as buffers or variables. `defineBackend` queues the calls per state. */
export interface StateFunctions<S> {
  /**
   * Creates a state with these values. Reads the arrays before the first await. If it throws, it leaves nothing behind.
   */
  readonly create: (values: Named<HostTensor>, adjacent: readonly (readonly string[])[]) => Awaitable<S>;
  /** Copies of the committed values. */
  readonly read: (state: S, names: readonly string[]) => Awaitable<Named<HostTensor>>;
  /** Replaces all of these values, or none if it fails. Reads the arrays before the first await. */
  readonly write: (state: S, values: Named<HostTensor>) => Awaitable<void>;
  /** Implements `State.inPlace`; `slots` is one of the groups that `create` was given. */
  readonly inPlace?: (
    state: S,
    slots: readonly string[],
    change: (values: Float32Array) => Promise<void>,
  ) => Awaitable<void>;
  /** Called once, after `dispose` of every program that was compiled for the state. */
  readonly release: (state: S) => void;
  readonly bytes: (state: S) => number;
}

/** Writes inputs into buffers of the program, so that no storage is made for each input. */
export interface FeedFunctions<T> {
  readonly write: (input: string, tensor: HostTensor) => void;
  /** Copies the storage of a handle. */
  readonly copy: (input: string, data: T) => void;
}

/** A graph that is ready to run. Its functions are called one at a time, in the order of the callers' calls. */
export interface Program<T> {
  /**
   * Runs once. Operands are read-only and valid only until the run ends. Returns a storage for every output of the
   * graph; it may be the storage of an operand or of another output. An engine that keeps the state replaces the slots
   * itself, in `run` or in `commit`: slots are not among the operands, and their new values are not among the results.
   * With a `commit`, the results include `applied`.
   * @param onRow given for a profiled run, which is also a normal run: call it with each row
   */
  run(inputs: Named<T>, onRow?: (row: ProfileRow) => void): Awaitable<Named<T>>;
  /** Commits a state that the engine keeps; called when all results are on the host. It must not fail. */
  commit?(isApplied: boolean): void;
  /** If present, receives the inputs; `run` then gets no operands. */
  readonly feed?: FeedFunctions<T>;
  /** False for an input that needs no storage because nothing reads it. */
  isRead?(input: string): boolean;
  /** Warnings other than those of emulated dtypes, which `defineBackend` gives itself. */
  readonly warnings?: readonly BackendWarning[];
  /** Present if the manifest declares `memory`. */
  memory?(): MemoryReport;
  /**
   * Called once, after the last run. `isStateEnding`: the state is being disposed of too, so its values need not be
   * kept.
   */
  dispose?(isStateEnding: boolean): void;
}

/** What a graph is compiled for. */
export interface Place<S> {
  readonly bound: Bound;
  /** Given if the engine keeps states itself. */
  readonly state: S | undefined;
  /** Whether the state's slots never change, so that the program may hold their values. */
  readonly isConstant: boolean;
}

export interface BackendHooks<T, S> extends StorageFunctions<T> {
  /** The backend's name, which begins every error message. */
  readonly name: string;
  readonly manifest: BackendManifest;
  /** Makes a graph ready to run. If the backend or the state is disposed of meanwhile, the program is, too. */
  readonly compile: (graph: Graph, place: Place<S>) => Awaitable<Program<T>>;
  /**
   * Owner of the storages that `run` returns. `own` (default): each storage is released after its last use.
   * `until-next-run`: the program keeps them and may overwrite them in its next run.
   */
  readonly results?: "own" | "until-next-run";
  /** If omitted, the values of a state are storages, and a run replaces them by its results. */
  readonly states?: StateFunctions<S>;
  /** Implements `Backend.adopt`: returns a host view of an engine library's tensor, undefined for other values. */
  readonly adopt?: (value: object) => HostTensor | undefined;
  /** Advice on the speed of an emulated dtype, added to the end of its warning. */
  readonly emulationAdvice?: string;
  /** Bytes of everything that the backend holds, if the engine counts them. */
  readonly heldBytes?: () => number;
  /** Called once, after everything that the backend held has been released. */
  readonly close?: () => Awaitable<void>;
}
