import { type HostTensor, MpError } from "@mp/core";
import {
  type BackendWarning,
  type Bound,
  type Executable,
  type HandleTable,
  type MemoryReport,
  type ProfileRow,
  type RunInput,
  WorkQueue,
} from "@mp/core/backend";
import type { Graph } from "@mp/core/graph";
import type { ConstantPool, PooledConstant } from "./constant-pool.js";
import { FeedBuffers } from "./feed-buffers.js";
import type { Lowered } from "./lower.js";
import {
  type NativeBinding,
  type NativeRuntime,
  type NativeSession,
  type NativeTensor,
  profileRows,
  profileRun,
  RunPacer,
} from "./native/index.js";
import { PreparedBindings } from "./prepared-bindings.js";
import { explainRunFailure } from "./run-failure.js";
import { RunPeak } from "./run-peak.js";
import type { OrtState } from "./state.js";

export interface ExecutableParts {
  readonly runtime: NativeRuntime;
  readonly graph: Graph;
  readonly lowered: Lowered;
  readonly session: NativeSession;
  readonly bound: Bound;
  readonly state: OrtState | undefined;
  readonly warnings: readonly BackendWarning[];
  readonly handles: HandleTable<NativeTensor>;
  readonly constants: ConstantPool;
  readonly onDispose: (executable: OrtExecutable) => void;
}

type Results = Readonly<Record<string, HostTensor>>;
type Execute = (binding: NativeBinding) => Promise<void>;

/**
 * A session with everything bound in advance: fed inputs and results in its own buffers, state in the state's ping-pong
 * buffers, one prepared binding for each combination of sides.
 */
export class OrtExecutable implements Executable {
  readonly warnings: readonly BackendWarning[];
  readonly #parts: ExecutableParts;
  readonly #queue: WorkQueue;
  readonly #feeds: FeedBuffers;
  readonly #results = new Map<string, NativeTensor>();
  readonly #constants = new Map<string, PooledConstant>();
  readonly #bindings = new PreparedBindings();
  /** Slots that the graph reads or writes. */
  readonly #slots: readonly string[];
  readonly #pacer = new RunPacer();
  readonly #peak: RunPeak;
  readonly #leaveState: (() => void) | undefined;
  #disposal: Promise<void> | undefined;

  /** Owns the session from here on, even when it throws. */
  constructor(parts: ExecutableParts) {
    this.#parts = parts;
    this.warnings = parts.warnings;
    const { runtime, graph, bound, lowered, state, session, constants, handles } = parts;
    this.#queue = state?.queue ?? new WorkQueue();
    this.#slots = [...new Set(bound.reads.values())];
    this.#peak = new RunPeak(session);
    this.#feeds = new FeedBuffers(handles);
    this.#leaveState = state?.beforeDisposal(() => this.#bindings.releaseAll());
    try {
      for (const { name, value } of graph.inputs) {
        if (!bound.reads.has(name)) this.#feeds.add(name, value, runtime);
      }
      for (const { name, value } of graph.outputs) {
        if (!bound.taken.has(name)) this.#results.set(name, runtime.allocate(value));
      }
      for (const { name, value } of lowered.constants) this.#constants.set(name, constants.acquire(value));
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  async run(inputs: Readonly<Record<string, RunInput>>): Promise<Results> {
    return this.#enqueue(inputs, (binding) => this.#peak.watch(() => this.#pacer.run(binding)));
  }

  async profile(inputs: Readonly<Record<string, RunInput>>): Promise<readonly ProfileRow[]> {
    let rows: readonly ProfileRow[] = [];
    await this.#enqueue(inputs, async (binding) => {
      const { nodeOf } = this.#parts.lowered;
      const events = await profileRun(binding);
      rows = profileRows(events.map((event) => ({ ...event, node: nodeOf(event.node) })));
    });
    return rows;
  }

  memory(): MemoryReport {
    this.#expectAlive();
    const { lowered, state } = this.#parts;
    const bytes = this.#peak.bytes;
    if (bytes === undefined) return { peakBytes: lowered.plannedPeakBytes };
    const buffers = [
      ...this.#feeds.byName.values(),
      ...this.#results.values(),
      ...[...this.#constants.values()].map(({ tensor }) => tensor),
    ];
    return {
      peakBytes: buffers.reduce((sum, { byteLength }) => sum + byteLength, bytes + (state?.bytes ?? 0)),
    };
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#queue.push(async () => {
      this.#release();
      this.#parts.onDispose(this);
    });
    return this.#disposal;
  }

  #release(): void {
    this.#leaveState?.();
    this.#bindings.releaseAll();
    this.#feeds.release();
    for (const buffer of this.#results.values()) buffer.release();
    for (const constant of this.#constants.values()) constant.release();
    this.#parts.session.release();
  }

  #expectAlive(): void {
    if (this.#disposal !== undefined)
      throw new MpError("MP_DISPOSED", "ort: the executable has been disposed");
    this.#parts.state?.expectAlive();
  }

  async #enqueue(inputs: Readonly<Record<string, RunInput>>, execute: Execute): Promise<Results> {
    this.#expectAlive();
    const feed = this.#feeds.take(inputs, this.#parts.bound.reads, this.#queue.isIdle);
    return this.#queue.push(() => {
      feed();
      return this.#execute(execute);
    });
  }

  async #execute(execute: Execute): Promise<Results> {
    const { graph, lowered } = this.#parts;
    const { runtime, state } = this.#parts;
    const binding = this.#bindings.get(state?.sides(this.#slots) ?? "", () => this.#bind());
    // On a device the engine copies, when it is bound, an input that a CPU node reads: a binding made once would go
    // stale.
    if (runtime.device !== "cpu") this.#bindInputs(binding);
    try {
      await execute(binding);
    } catch (error) {
      throw explainRunFailure(error, graph, lowered.nodeOf);
    }
    const results: Record<string, HostTensor> = {};
    for (const [name, buffer] of this.#results) results[name] = buffer.read();
    this.#commit(results);
    return results;
  }

  /** A binding for the sides on which the state's slots now lie. */
  #bind(): NativeBinding {
    const { runtime, session, bound, state, lowered } = this.#parts;
    const binding = runtime.bind(session);
    try {
      for (const [name, { tensor }] of this.#constants) binding.bindInput(name, tensor);
      this.#bindInputs(binding);
      for (const [name, buffer] of this.#results) binding.bindOutput(lowered.outputName(name), buffer);
      if (state === undefined) return binding;
      for (const { slot, output } of [...bound.always, ...bound.whenApplied]) {
        binding.bindOutput(lowered.outputName(output), state.next(slot));
      }
      return binding;
    } catch (error) {
      binding.release();
      throw error;
    }
  }

  /** What may change from run to run: fed inputs, and the slots' current sides. */
  #bindInputs(binding: NativeBinding): void {
    const { bound, state, lowered } = this.#parts;
    for (const [name, buffer] of this.#feeds.byName) binding.bindInput(lowered.inputName(name), buffer);
    if (state === undefined) return;
    for (const [input, slot] of bound.reads) {
      binding.bindInput(lowered.inputName(input), state.current(slot));
    }
  }

  #commit(results: Results): void {
    const { bound, state } = this.#parts;
    if (state === undefined) return;
    const isApplied = bound.whenApplied.length > 0 && this.#isApplied(results, state);
    state.flip(bound.always);
    if (isApplied) state.flip(bound.whenApplied);
  }

  /** The flag is a result, or (when it replaces a slot as well) what the run wrote there. */
  #isApplied(results: Results, state: OrtState): boolean {
    const { applied, always, whenApplied } = this.#parts.bound;
    if (applied === undefined) return false;
    const taken = [...always, ...whenApplied].find(({ output }) => output === applied);
    const flag = taken === undefined ? results[applied] : state.next(taken.slot).read();
    return flag?.data[0] === 1;
  }
}
