import { type HostTensor, MpError } from "@mp/core";
import {
  type BackendWarning,
  type Bound,
  type Executable,
  type HandleTable,
  type RunInput,
  WorkQueue,
} from "@mp/core/backend";
import type { Graph } from "@mp/core/graph";
import { takeInputs } from "./feeds.js";
import type { Program } from "./graph/program.js";
import type { TfjsBinding } from "./load/index.js";
import { explainFailure } from "./session/engine-failure.js";
import type { ProgramSet } from "./session/program-set.js";
import { emptyTensor, WireTensor } from "./session/wire-tensor.js";
import type { TfjsState } from "./state.js";
import type { Uploaded } from "./uploaded.js";

export interface ExecutableParts {
  readonly binding: TfjsBinding;
  readonly graph: Graph;
  readonly program: Program;
  /** The state's programs, or a set that holds only this program. */
  readonly programs: ProgramSet;
  readonly bound: Bound;
  readonly state: TfjsState | undefined;
  readonly warnings: readonly BackendWarning[];
  readonly handles: HandleTable<Uploaded>;
  readonly onDispose: (executable: TfjsExecutable) => void;
}

type Results = Readonly<Record<string, HostTensor>>;

/** A program in the session of its state. A run is one call, which also commits. */
export class TfjsExecutable implements Executable {
  readonly warnings: readonly BackendWarning[];
  readonly #parts: ExecutableParts;
  readonly #queue: WorkQueue;
  #disposal: Promise<void> | undefined;

  constructor(parts: ExecutableParts) {
    this.#parts = parts;
    this.warnings = parts.warnings;
    this.#queue = parts.state?.queue ?? new WorkQueue();
    parts.programs.add(parts.program);
  }

  async run(inputs: Readonly<Record<string, RunInput>>): Promise<Results> {
    const { state, program, bound, handles, binding } = this.#parts;
    if (this.#disposal !== undefined)
      throw new MpError("MP_DISPOSED", "tfjs: the executable has been disposed");
    state?.expectAlive();
    const feed = takeInputs(inputs, program.inputs, bound.reads, handles, binding);
    return this.#queue.push(async () => {
      try {
        return await this.#run(feed.ids);
      } finally {
        feed.release();
      }
    });
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#queue.push(async () => {
      const { programs, program, state, onDispose } = this.#parts;
      if (state === undefined) programs.dispose();
      else if (!state.isDisposed) programs.remove(program);
      onDispose(this);
    });
    return this.#disposal;
  }

  async #run(fed: readonly number[]): Promise<Results> {
    const { programs, program, graph, binding } = this.#parts;
    let ids: readonly number[];
    try {
      ids = await programs.run(program, fed);
    } catch (error) {
      throw explainFailure(error, graph, (node) => program.nodeOf(node));
    }
    const wires = ids.values();
    const results: Record<string, HostTensor> = {};
    try {
      for (const { name, type, node } of program.results) {
        if (node === undefined) results[name] = emptyTensor(type);
        else results[name] = new WireTensor(binding, type, wires.next().value as number).read();
      }
      return results;
    } finally {
      for (const id of ids) binding.deleteTensor(id);
    }
  }
}
