import type { FeedFunctions, Place, Program } from "@mp/core/backend";
import type { Graph, MemoryReport, ProfileRow } from "@mp/core/graph";
import { releaseConstants } from "./constant-pool.js";
import {
  type NativeBinding,
  type NativeRuntime,
  type NativeTensor,
  profileRows,
  profileRun,
  RunPacer,
} from "./native/index.js";
import type { Opened } from "./open-session.js";
import type { PingPongSlots } from "./ping-pong-slots.js";
import { PreparedBindings } from "./prepared-bindings.js";
import { explainRunFailure } from "./run-failure.js";
import { RunPeak } from "./run-peak.js";

export interface ProgramParts extends Place<PingPongSlots>, Opened {
  readonly runtime: NativeRuntime;
  readonly graph: Graph;
}

type Buffers = ReadonlyMap<string, NativeTensor>;
type Results = Readonly<Record<string, NativeTensor>>;
type OnRow = (row: ProfileRow) => void;

/**
 * A session with everything bound in advance: fed inputs and results in its own buffers, state in the state's ping-pong
 * buffers, one prepared binding for each combination of sides.
 */
export class BoundProgram implements Program<NativeTensor> {
  readonly feed: FeedFunctions<NativeTensor>;
  readonly #parts: ProgramParts;
  readonly #feeds = new Map<string, NativeTensor>();
  readonly #results = new Map<string, NativeTensor>();
  readonly #bindings = new PreparedBindings();
  /** Slots that are bound. */
  readonly #slots: readonly string[];
  /** The results by name; every run writes to the same buffers. */
  readonly #given: Results;
  /** The flag, if it replaces a slot as well: what the run wrote there. */
  readonly #flag: (() => Results) | undefined;
  readonly #pacer = new RunPacer();
  readonly #peak: RunPeak;

  /** Owns the session and the constants from here on, even when it throws. */
  constructor(parts: ProgramParts) {
    this.#parts = parts;
    const { runtime, graph, bound, lowered, session } = parts;
    this.#slots = lowered.initializers !== undefined ? [] : [...new Set(bound.reads.values())];
    this.#peak = new RunPeak(session);
    this.feed = {
      write: (input, tensor) => this.#feeds.get(input)?.write(tensor),
      copy: (input, tensor) => this.#feeds.get(input)?.copyFrom(tensor),
    };
    try {
      for (const { name, value } of graph.inputs) {
        if (!bound.reads.has(name)) this.#feeds.set(name, runtime.allocate(value));
      }
      for (const { name, value } of graph.outputs) {
        if (!bound.taken.has(name)) this.#results.set(name, runtime.allocate(value));
      }
    } catch (error) {
      this.dispose();
      throw error;
    }
    this.#given = Object.fromEntries(this.#results);
    this.#flag = takenFlag(parts);
  }

  async run(_: unknown, onRow?: OnRow): Promise<Results> {
    const { graph, lowered, runtime, state } = this.#parts;
    const binding = this.#bindings.get(state?.sides(this.#slots) ?? "", () => this.#bind());
    // On a device the engine copies, when it is bound, an input that a CPU node reads: a binding made once would go
    // stale.
    if (runtime.device !== "cpu") this.#bindInputs(binding);
    try {
      if (onRow === undefined) await this.#peak.watch(() => this.#pacer.run(binding));
      else await this.#profile(binding, onRow);
    } catch (error) {
      throw explainRunFailure(error, graph, lowered.nodeOf);
    }
    return this.#flag === undefined ? this.#given : { ...this.#given, ...this.#flag() };
  }

  commit(isApplied: boolean): void {
    const { bound, state } = this.#parts;
    state?.flip(bound.always);
    if (isApplied) state?.flip(bound.whenApplied);
  }

  memory(): MemoryReport {
    const { lowered, constants, state } = this.#parts;
    const bytes = this.#peak.bytes;
    if (bytes === undefined) return { peakBytes: lowered.plannedPeakBytes };
    const buffers = [
      ...this.#feeds.values(),
      ...this.#results.values(),
      ...[...constants.values()].map(({ tensor }) => tensor),
    ];
    return {
      peakBytes: buffers.reduce((sum, { byteLength }) => sum + byteLength, bytes + (state?.bytes ?? 0)),
    };
  }

  dispose(): void {
    this.#bindings.releaseAll();
    for (const buffers of [this.#feeds, this.#results] satisfies Buffers[]) {
      for (const buffer of buffers.values()) buffer.release();
    }
    this.#parts.session.release();
    releaseConstants(this.#parts.constants);
  }

  async #profile(binding: NativeBinding, onRow: OnRow): Promise<void> {
    const { nodeOf, isInBody } = this.#parts.lowered;
    const events = (await profileRun(binding)).filter(({ node }) => !isInBody(node));
    for (const row of profileRows(events.map((event) => ({ ...event, node: nodeOf(event.node) }))))
      onRow(row);
  }

  /** A binding for the sides on which the state's slots now lie. */
  #bind(): NativeBinding {
    const { runtime, session, bound, state, lowered, constants } = this.#parts;
    const binding = runtime.bind(session);
    try {
      if (lowered.initializers === undefined)
        for (const [name, { tensor }] of constants) binding.bindInput(name, tensor);
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
    for (const [name, buffer] of this.#feeds) binding.bindInput(lowered.inputName(name), buffer);
    if (state === undefined || lowered.initializers !== undefined) return;
    for (const [input, slot] of bound.reads) {
      binding.bindInput(lowered.inputName(input), state.current(slot));
    }
  }
}

function takenFlag({ bound, state }: ProgramParts): (() => Results) | undefined {
  const { applied, always, whenApplied } = bound;
  const taken = [...always, ...whenApplied].find(({ output }) => output === applied);
  if (applied === undefined || taken === undefined || state === undefined) return undefined;
  return () => Object.fromEntries([[applied, state.next(taken.slot)]]);
}
