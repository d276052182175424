import { type Executable, type Graph, type MemoryReport, MpError, type ProfileRow } from "@mp/graph";
import type { FeedFunctions, Place, Program } from "@mp/graph/backend";
import { failureInNode } from "@mp/onnx-lowering";
import {
  type PingPongSlots,
  PreparedBindings,
  profileRows,
  RunPacer,
  releaseConstants,
} from "@mp/onnx-lowering/program";
import { type NativeBinding, type NativeRuntime, type NativeTensor, profileRun } from "./native/index.js";
import type { Opened } from "./open-session.js";
import { RunPeak } from "./run-peak.js";
import { snapshot } from "./snapshot.js";

export interface ProgramParts extends Place<PingPongSlots<NativeTensor>>, Opened {
  readonly runtime: NativeRuntime;
  readonly graph: Graph;
}

type Results = Readonly<Record<string, NativeTensor>>;
type OnRow = (row: ProfileRow) => void;

/**
 * A session whose tensors are all bound in advance: inputs and results to buffers of their own, the state to two
 * buffers per slot. Prepares one binding for each combination of committed buffers (`PingPongSlots`).
 */
export class BoundProgram implements Program<NativeTensor> {
  readonly feed: FeedFunctions<NativeTensor>;
  readonly warnings: Executable["warnings"];
  readonly #parts: ProgramParts;
  readonly #feeds = new Map<string, NativeTensor>();
  readonly #results = new Map<string, NativeTensor>();
  readonly #bindings = new PreparedBindings<NativeBinding>();
  /** The slots whose committed buffers determine the binding. */
  readonly #slots: readonly string[];
  /** Groups of slots that take the same output. The engine writes the first slot, and the other slots get copies. */
  readonly #repeated: readonly (readonly [slot: string, ...others: string[]])[];
  readonly #pacer = new RunPacer();
  /** Undefined on a device, where memory does not come from the arena. */
  readonly #peak: RunPeak | undefined;
  /** Copies into inputs that wait until the device is free. */
  #feeding: Promise<void>[] = [];

  /** Takes ownership of the session and the constants, even if it throws. */
  constructor(parts: ProgramParts) {
    this.#parts = parts;
    const { runtime, graph, bound, lowered, session } = parts;
    this.#slots = lowered.initializers !== undefined ? [] : [...new Set(bound.reads.values())];
    this.#peak = runtime.device === "cpu" ? new RunPeak(session) : undefined;
    this.warnings = parts.warnings;
    this.feed = {
      write: (input, tensor) => {
        const given = snapshot(runtime.turns, tensor);
        this.#whenFree(() => this.#feeds.get(input)?.write(given));
      },
      copy: (input, tensor) => this.#whenFree(() => this.#feeds.get(input)?.copyFrom(tensor)),
    };
    try {
      for (const { name, value } of graph.inputs) {
        if (!bound.reads.has(name)) this.#feeds.set(name, runtime.allocate(value));
      }
      for (const { name, value } of graph.outputs) {
        if (!bound.taken.has(name)) this.#results.set(name, runtime.allocate(value));
      }
    } catch (error) {
      this.#free();
      throw error;
    }
    this.#repeated = [...bound.taken.values()].filter(({ length }) => length > 1);
  }

  run(_: unknown, onRow?: OnRow): Promise<Results> | Results {
    return this.#parts.runtime.turns.take(() => this.#run(onRow));
  }

  /** Does the work now or, if the device is busy, when its turn comes; the next run waits for it. */
  #whenFree(work: () => void): void {
    const waiting = this.#parts.runtime.turns.take(work);
    if (!(waiting instanceof Promise)) return;
    this.#feeding.push(waiting);
    // The run reports a failure; until then it must not count as unhandled.
    waiting.catch(() => undefined);
  }

  async #run(onRow?: OnRow): Promise<Results> {
    if (this.#feeding.length > 0) {
      const feeding = this.#feeding;
      this.#feeding = [];
      await Promise.all(feeding);
    }
    const { graph, lowered, runtime, session, state, bound } = this.#parts;
    const binding = this.#bindings.get(state?.sides(this.#slots) ?? "", () => this.#bind());
    // On a device, binding an input copies it if a CPU node reads it, so a binding made once would go stale.
    if (runtime.device !== "cpu" && !session.captures) this.#bindInputs(binding);
    try {
      const run = (): Promise<void> => this.#pacer.run(binding);
      if (onRow !== undefined) await this.#profile(binding, onRow);
      else await (this.#peak === undefined ? run() : this.#peak.watch(run));
    } catch (error) {
      if (!MpError.is(error)) throw error;
      // The arguments were accepted before, so an engine error about them is the engine's failure.
      const isAboutData = error.code === "MP_INVALID_ARGUMENT" || error.code === "MP_UNSUPPORTED";
      throw failureInNode(error, graph, lowered.nodeOf, isAboutData ? "MP_BACKEND_FAILED" : error.code);
    }
    if (state !== undefined)
      for (const [first, ...others] of this.#repeated)
        for (const slot of others) state.next(slot).copyFrom(state.next(first));
    const results: Record<string, NativeTensor> = Object.fromEntries(this.#results);
    const { applied } = bound;
    const flag = applied === undefined ? undefined : bound.taken.get(applied);
    if (state !== undefined && flag !== undefined) results[applied as string] = state.next(flag[0]);
    return results;
  }

  commit(isApplied: boolean): void {
    const { bound, state } = this.#parts;
    state?.flip(bound.always);
    if (isApplied) state?.flip(bound.whenApplied);
  }

  memory(): MemoryReport {
    const { lowered, constants, state } = this.#parts;
    const bytes = this.#peak?.bytes;
    if (bytes === undefined) return { peakBytes: lowered.plannedPeakBytes };
    let peakBytes = bytes + (state?.bytes ?? 0);
    for (const buffers of [this.#feeds, this.#results])
      for (const { byteLength } of buffers.values()) peakBytes += byteLength;
    for (const { tensor } of constants.values()) peakBytes += tensor.byteLength;
    return { peakBytes };
  }

  dispose(): void {
    void this.#parts.runtime.turns.take(() => this.#free());
  }

  #free(): void {
    this.#bindings.releaseAll();
    for (const buffers of [this.#feeds, this.#results])
      for (const buffer of buffers.values()) buffer.release();
    this.#parts.session.release();
    releaseConstants(this.#parts.constants);
  }

  async #profile(binding: NativeBinding, onRow: OnRow): Promise<void> {
    const { nodeOf, isInBody } = this.#parts.lowered;
    const events = (await profileRun(binding)).filter(({ node }) => !isInBody(node));
    for (const row of profileRows(events.map((event) => ({ ...event, node: nodeOf(event.node) }))))
      onRow(row);
  }

  /** Makes a binding for the buffers of the state that are committed now. */
  #bind(): NativeBinding {
    const { runtime, session, bound, state, lowered, constants } = this.#parts;
    const binding = runtime.bind(session);
    try {
      if (lowered.initializers === undefined)
        for (const [name, { tensor }] of constants) binding.bindInput(name, tensor);
      this.#bindInputs(binding);
      for (const [name, buffer] of this.#results) binding.bindOutput(lowered.outputName(name), buffer);
      if (state === undefined) return binding;
      for (const [output, [first]] of bound.taken)
        binding.bindOutput(lowered.outputName(output), state.next(first));
      return binding;
    } catch (error) {
      binding.release();
      throw error;
    }
  }

  /** Binds what may change between runs: the inputs, and the committed buffers of the slots. */
  #bindInputs(binding: NativeBinding): void {
    const { bound, state, lowered } = this.#parts;
    for (const [name, buffer] of this.#feeds) binding.bindInput(lowered.inputName(name), buffer);
    if (state === undefined || lowered.initializers !== undefined) return;
    for (const [input, slot] of bound.reads) {
      binding.bindInput(lowered.inputName(input), state.current(slot));
    }
  }
}
