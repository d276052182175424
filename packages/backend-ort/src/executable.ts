import {
  type BackendWarning,
  type Executable,
  type Graph,
  type HostTensor,
  type MemoryReport,
  MpError,
  type ProfileRow,
  type RunInput,
} from "@mp/core";
import { type Bound, expectHostTensor, expectType, WorkQueue } from "@mp/core/backend";
import type { Lowered } from "./lower.js";
import {
  arenaStats,
  type NativeBinding,
  type NativeRuntime,
  type NativeSession,
  type NativeTensor,
  profileRows,
  profileRun,
  RunPacer,
} from "./native/index.js";
import type { OrtState } from "./state.js";

export interface ExecutableParts {
  readonly runtime: NativeRuntime;
  readonly graph: Graph;
  readonly lowered: Lowered;
  readonly session: NativeSession;
  readonly bound: Bound;
  readonly state: OrtState | undefined;
  readonly warnings: readonly BackendWarning[];
  readonly handles: ReadonlyMap<object, NativeTensor>;
  readonly onDispose: (executable: OrtExecutable) => void;
}

/**
 * A session with everything bound in advance: fed inputs and results in buffers of its own, state in the
 * state's ping-pong buffers, one prepared binding for each combination of sides.
 */
export class OrtExecutable implements Executable {
  readonly warnings: readonly BackendWarning[];
  readonly #parts: ExecutableParts;
  readonly #queue: WorkQueue;
  readonly #fed = new Map<string, NativeTensor>();
  readonly #results = new Map<string, NativeTensor>();
  readonly #constants = new Map<string, NativeTensor>();
  readonly #bindings = new Map<string, NativeBinding>();
  readonly #slots: readonly string[];
  readonly #pacer = new RunPacer();
  #disposal: Promise<void> | undefined;

  constructor(parts: ExecutableParts) {
    this.#parts = parts;
    this.warnings = parts.warnings;
    const { runtime, graph, bound, lowered, state } = parts;
    this.#queue = state?.queue ?? new WorkQueue();
    this.#slots = [...new Set(bound.reads.values())];
    for (const { name, value } of graph.inputs) {
      if (!bound.reads.has(name)) this.#fed.set(name, runtime.allocate(value));
    }
    for (const { name, value } of graph.outputs) {
      if (!bound.taken.has(name)) this.#results.set(name, runtime.allocate(value));
    }
    for (const { name, value } of lowered.constants) this.#constants.set(name, runtime.upload(value));
  }

  async run(inputs: Readonly<Record<string, RunInput>>): Promise<Readonly<Record<string, HostTensor>>> {
    return this.#enqueue(inputs, (binding) => this.#pacer.run(binding));
  }

  async profile(inputs: Readonly<Record<string, RunInput>>): Promise<readonly ProfileRow[]> {
    let rows: readonly ProfileRow[] = [];
    await this.#enqueue(inputs, async (binding) => {
      const { nodeOf } = this.#parts.lowered;
      rows = profileRows(
        (await profileRun(binding)).map((event) => ({ ...event, node: nodeOf(event.node) })),
      );
    });
    return rows;
  }

  memory(): MemoryReport {
    this.#expectAlive();
    const arena = arenaStats(this.#parts.session);
    return { peakBytes: (arena?.maxBytesInUse ?? 0) + this.#parts.runtime.stats().bytes };
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#queue.push(async () => {
      for (const binding of this.#bindings.values()) binding.release();
      for (const buffers of [this.#fed, this.#results, this.#constants]) {
        for (const buffer of buffers.values()) buffer.release();
      }
      this.#parts.session.release();
      this.#parts.onDispose(this);
    });
    return this.#disposal;
  }

  #expectAlive(): void {
    if (this.#disposal !== undefined)
      throw new MpError("MP_DISPOSED", "ort: the executable has been disposed");
    this.#parts.state?.expectAlive();
  }

  async #enqueue(
    inputs: Readonly<Record<string, RunInput>>,
    execute: (binding: NativeBinding) => Promise<void>,
  ): Promise<Readonly<Record<string, HostTensor>>> {
    this.#expectAlive();
    const feeds = this.#check(inputs);
    return this.#queue.push(async () => {
      for (const [buffer, source] of feeds) copyInto(buffer, source);
      await execute(this.#binding());
      const results: Record<string, HostTensor> = {};
      for (const [name, buffer] of this.#results) results[name] = buffer.read();
      this.#commit(results);
      return results;
    });
  }

  /** Checks every input before the first is copied; the data itself is read when the run's turn comes. */
  #check(
    inputs: Readonly<Record<string, RunInput>>,
  ): readonly (readonly [NativeTensor, HostTensor | NativeTensor])[] {
    const { bound, handles } = this.#parts;
    for (const name of Object.keys(inputs)) {
      if (bound.reads.has(name)) throw invalid(`input "${name}" comes from the state, leave it out`);
      if (!this.#fed.has(name)) {
        throw invalid(
          `there is no input "${name}", the graph takes ${[...this.#fed.keys()].join(", ") || "none"}`,
        );
      }
    }
    return [...this.#fed].map(([name, buffer]) => {
      const input = inputs[name];
      if (input === undefined) throw invalid(`input "${name}" is missing`);
      const held = heldBy(handles, input);
      const what = `run: input "${name}"`;
      expectType(what, held ?? expectHostTensor(what, input), buffer);
      return [buffer, held ?? (input as HostTensor)] as const;
    });
  }

  /** The binding for the sides on which the state's slots now lie. */
  #binding(): NativeBinding {
    const { runtime, session, bound, state, lowered } = this.#parts;
    const sides = this.#slots.map((slot) => state?.side(slot)).join("");
    const known = this.#bindings.get(sides);
    if (known !== undefined) return known;
    const binding = runtime.bind(session);
    try {
      for (const [name, buffer] of this.#fed) binding.bindInput(lowered.inputName(name), buffer);
      for (const [name, buffer] of this.#constants) binding.bindInput(name, buffer);
      for (const [name, buffer] of this.#results) binding.bindOutput(lowered.outputName(name), buffer);
      if (state !== undefined) {
        for (const [input, slot] of bound.reads)
          binding.bindInput(lowered.inputName(input), state.current(slot));
        for (const { slot, output } of [...bound.always, ...bound.whenApplied]) {
          binding.bindOutput(lowered.outputName(output), state.next(slot));
        }
      }
    } catch (error) {
      binding.release();
      throw error;
    }
    this.#bindings.set(sides, binding);
    return binding;
  }

  #commit(results: Readonly<Record<string, HostTensor>>): void {
    const { bound, state } = this.#parts;
    if (state === undefined) return;
    state.flip(bound.always.map(({ slot }) => slot));
    const flag = bound.applied === undefined ? undefined : results[bound.applied]?.data[0];
    if (flag !== undefined && flag !== 0) state.flip(bound.whenApplied.map(({ slot }) => slot));
  }
}

/** @throws MP_INVALID_ARGUMENT for another backend's handle, MP_DISPOSED for one of ours that is gone */
export function heldBy(
  handles: ReadonlyMap<object, NativeTensor>,
  input: RunInput,
): NativeTensor | undefined {
  const held = handles.get(input);
  if (held === undefined) {
    if ("dispose" in input && !("data" in input)) {
      throw invalid("the handle belongs to another backend");
    }
    return undefined;
  }
  held.assertUsable();
  return held;
}

function copyInto(buffer: NativeTensor, source: HostTensor | NativeTensor): void {
  buffer.write("data" in source ? source : source.read());
}

function invalid(message: string): MpError<"MP_INVALID_ARGUMENT"> {
  return new MpError("MP_INVALID_ARGUMENT", `run: ${message}`);
}
