import type { BackendWarning, Executable, MemoryReport, ProfileRow, RunInput } from "../contract/backend.js";
import type { BackendManifest } from "../contract/manifest.js";
import type { ValueType } from "../graph/graph.js";
import type { HostTensor } from "../host/host-tensor.js";
import { callAll } from "./call-all.js";
import { bufferFeed, type Feed, storageFeed } from "./feed.js";
import type { HandleTable } from "./handle-table.js";
import type { Named } from "./hooks.js";
import { expectRunInputs } from "./run-inputs.js";
import { collectOutputs, type RunParts, runProgram } from "./run-program.js";
import type { DefinedState } from "./state.js";
import type { Stored } from "./storages.js";
import { WorkQueue } from "./work-queue.js";

type Inputs = Named<RunInput>;
type Results = Named<HostTensor>;
type OnRow = (row: ProfileRow) => void;

export interface ExecutableParts<T, S> extends Omit<RunParts<T>, "outputs"> {
  readonly handles: HandleTable<Stored<T>>;
  readonly manifest: BackendManifest;
  readonly state: DefinedState<S> | undefined;
  readonly warnings: readonly BackendWarning[];
  readonly onDispose: (executable: Executable) => void;
}

/**
 * The executable that users get: checks arguments when a method is called, then queues the work, in its state's queue
 * if it has a state, otherwise in its own.
 */
export class DefinedExecutable<T, S> implements Executable {
  readonly warnings: readonly BackendWarning[];
  readonly profile?: (inputs: Inputs) => Promise<readonly ProfileRow[]>;
  readonly memory?: () => MemoryReport;
  readonly #parts: ExecutableParts<T, S>;
  readonly #run: RunParts<T>;
  readonly #queue: WorkQueue;
  /** Inputs that are not bound to the state. */
  readonly #open: ReadonlyMap<string, ValueType>;
  readonly #leaveState: (() => void) | undefined;
  #isFreed = false;
  #disposal: Promise<void> | undefined;

  constructor(parts: ExecutableParts<T, S>) {
    const { manifest, graph, bound, state, program } = parts;
    this.#parts = parts;
    this.#run = { ...parts, outputs: collectOutputs(parts) };
    this.warnings = parts.warnings;
    this.#queue = state?.queue ?? new WorkQueue();
    const open = graph.inputs.filter(({ name }) => !bound.reads.has(name));
    this.#open = new Map(open.map(({ name, value }) => [name, value]));
    this.#leaveState = state?.beforeRelease(() => this.#free());
    if (manifest.profile === true) this.profile = (inputs) => this.#profile(inputs);
    if (manifest.memory === true && program.memory !== undefined) this.memory = () => this.#memory();
  }

  async run(inputs: Inputs): Promise<Results> {
    return this.#enqueue(inputs);
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#queue.push(async () => {
      callAll([() => this.#free(), () => this.#parts.onDispose(this)]);
    });
    return this.#disposal;
  }

  async #profile(inputs: Inputs): Promise<readonly ProfileRow[]> {
    const rows: ProfileRow[] = [];
    await this.#enqueue(inputs, (row) => void rows.push(row));
    return rows;
  }

  #memory(): MemoryReport {
    this.#expectAlive();
    const { program, storages } = this.#parts;
    return storages.attempt("memory", () => program.memory?.() ?? { peakBytes: 0 });
  }

  /** Captures the inputs now, and runs when earlier calls are done. */
  #enqueue(inputs: Inputs, onRow?: OnRow): Promise<Results> {
    this.#expectAlive();
    const feed = this.#feed(inputs);
    const run = (fed: ReadonlyMap<string, T>): Promise<Results> => runProgram(this.#run, fed, onRow);
    return this.#queue.push(() => {
      const fed = feed();
      return fed instanceof Promise ? fed.then(run) : run(fed);
    });
  }

  #feed(inputs: Inputs): Feed<T> {
    const { bound, handles, program, storages } = this.#parts;
    const given = expectRunInputs(inputs, this.#open, bound.reads, handles);
    if (program.feed !== undefined) {
      return bufferFeed(given, handles, storages, program.feed, this.#queue.isIdle);
    }
    const read = given.filter(([name]) => program.isRead?.(name) ?? true);
    return storageFeed(read, handles, storages);
  }

  #free(): void {
    if (this.#isFreed) return;
    this.#isFreed = true;
    this.#leaveState?.();
    const { program, state, storages } = this.#parts;
    storages.attempt("dispose", () => program.dispose?.(state?.isDisposed ?? false));
  }

  #expectAlive(): void {
    if (this.#disposal !== undefined) throw this.#parts.storages.disposedError("the executable");
    this.#parts.state?.expectAlive("the executable's state");
  }
}
