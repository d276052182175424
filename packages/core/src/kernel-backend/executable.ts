import type { BackendWarning, Executable, MemoryReport, ProfileRow, RunInput } from "../backend.js";
import type { AnyNode, ValueType } from "../graph/graph.js";
import type { HostTensor } from "../host-tensor.js";
import type { Bound, Replacement } from "./bindings.js";
import type { Engine } from "./engine.js";
import type { HandleTable } from "./handle-table.js";
import type { KernelTensor } from "./kernel.js";
import type { Plan } from "./plan.js";
import { expectRunInputs } from "./run-inputs.js";
import { at, dropAll, runStep, type Slots, shared } from "./run-step.js";
import type { KernelState } from "./state.js";
import { WorkQueue } from "./work-queue.js";

type OnStep = (node: AnyNode, microseconds: number) => void;

export interface ExecutableParts<T> {
  readonly engine: Engine<T>;
  readonly handles: HandleTable<KernelTensor<T>>;
  readonly plan: Plan;
  readonly bound: Bound;
  readonly state: KernelState<T> | undefined;
  readonly warnings: readonly BackendWarning[];
  readonly onDispose: () => void;
}

/** Executes a plan: calls kernels in graph order, frees each value after its last use, commits at the end. */
export class KernelExecutable<T> implements Executable {
  readonly warnings: readonly BackendWarning[];
  readonly #parts: ExecutableParts<T>;
  readonly #queue: WorkQueue;
  readonly #constants: Slots<T>;
  /** Inputs that are not bound to the state. */
  readonly #open: ReadonlyMap<string, ValueType>;
  #peakBytes = 0;
  #disposal: Promise<void> | undefined;

  private constructor(parts: ExecutableParts<T>, constants: Slots<T>) {
    this.warnings = parts.warnings;
    this.#parts = parts;
    this.#queue = parts.state?.queue ?? new WorkQueue();
    this.#constants = constants;
    const { plan, bound } = parts;
    const open = [...plan.inputs].filter(([name]) => !bound.reads.has(name));
    this.#open = new Map(open.map(([name, slot]) => [name, plan.types[slot] as ValueType]));
  }

  /** Uploads the constants, once for all runs. */
  static async create<T>(parts: ExecutableParts<T>): Promise<KernelExecutable<T>> {
    const { engine, plan } = parts;
    const constants: Slots<T> = [];
    try {
      for (const step of plan.constants) {
        if (engine.kernels.Constant !== undefined) await runStep(engine, plan, step, constants);
        else if (step.node.op === "Constant") {
          const { value } = step.node.attributes;
          const { dtype, shape } = value;
          constants[step.writes[0] as number] = { dtype, shape, data: await engine.upload(value) };
        }
      }
    } catch (error) {
      dropAll(engine, constants);
      throw error;
    }
    return new KernelExecutable(parts, constants);
  }

  async run(inputs: Readonly<Record<string, RunInput>>): Promise<Readonly<Record<string, HostTensor>>> {
    return this.#enqueue(inputs);
  }

  async profile(inputs: Readonly<Record<string, RunInput>>): Promise<readonly ProfileRow[]> {
    const rows: ProfileRow[] = [];
    await this.#enqueue(inputs, (node, microseconds) => {
      rows.push({ node: node.name, op: node.op, microseconds, calls: 1 });
    });
    return rows;
  }

  memory(): MemoryReport {
    this.#expectAlive();
    return { peakBytes: Math.max(this.#peakBytes, this.#parts.engine.pool.bytes) };
  }

  dispose(): Promise<void> {
    this.#disposal ??= this.#queue.push(async () => {
      dropAll(this.#parts.engine, this.#constants);
      this.#parts.onDispose();
    });
    return this.#disposal;
  }

  #expectAlive(): void {
    if (this.#disposal !== undefined) throw this.#parts.engine.disposed("the executable");
    if (this.#parts.state?.isDisposed === true) throw this.#parts.engine.disposed("the executable's state");
  }

  /** Captures the inputs now, and runs when earlier runs are done. */
  #enqueue(
    inputs: Readonly<Record<string, RunInput>>,
    onStep?: OnStep,
  ): Promise<Readonly<Record<string, HostTensor>>> {
    this.#expectAlive();
    const slots: Slots<T> = [];
    const taken = this.#take(inputs, slots);
    // If you await the run, you get the failure; until then it must not count as unhandled.
    taken.catch(() => undefined);
    return this.#queue.push(async () => {
      try {
        await taken;
        return await this.#execute(slots, onStep);
      } finally {
        dropAll(this.#parts.engine, slots);
      }
    });
  }

  async #take(inputs: Readonly<Record<string, RunInput>>, slots: Slots<T>): Promise<void> {
    const { engine, handles, plan, bound } = this.#parts;
    const given = expectRunInputs(inputs, this.#open, bound.reads, handles).map(([name, input]) => {
      const slot = plan.inputs.get(name) as number;
      const type = plan.types[slot] as ValueType;
      return { slot, type, held: handles.find(input), tensor: input as HostTensor };
    });
    const read = given.filter(({ slot }) => plan.isRead(slot));
    for (const { slot, held } of read) {
      if (held === undefined) continue;
      engine.pool.share(held.data);
      slots[slot] = held;
    }
    const uploads = await Promise.allSettled(
      read.map(async ({ slot, type, held, tensor }) => {
        if (held === undefined) slots[slot] = { ...type, data: await engine.upload(tensor) };
      }),
    );
    for (const upload of uploads) if (upload.status === "rejected") throw upload.reason;
  }

  async #execute(slots: Slots<T>, onStep?: OnStep): Promise<Readonly<Record<string, HostTensor>>> {
    const { engine, plan, bound, state } = this.#parts;
    this.#constants.forEach((constant, slot) => {
      slots[slot] = constant && shared(engine, constant);
    });
    for (const [input, slot] of bound.reads) {
      slots[plan.inputs.get(input) as number] = shared(engine, (state as KernelState<T>).current(slot));
    }
    this.#notePeak();
    for (const step of plan.steps) {
      const started = onStep === undefined ? 0 : performance.now();
      const running = runStep(engine, plan, step, slots);
      if (running !== undefined) await running;
      onStep?.(step.node, 1000 * (performance.now() - started));
      this.#notePeak();
      for (const slot of step.frees) {
        const freed = slots[slot];
        slots[slot] = undefined;
        if (freed !== undefined) engine.pool.drop(freed.data);
      }
    }
    return this.#finish(slots);
  }

  /** Copies results to the host first, since nothing may fail after the commit. */
  async #finish(slots: Slots<T>): Promise<Readonly<Record<string, HostTensor>>> {
    const { engine, plan, bound, state } = this.#parts;
    const resultOf = (output: string): KernelTensor<T> => at(slots, plan.outputs.get(output) as number);
    const results = new Map<string, HostTensor>();
    for (const name of plan.outputs.keys()) {
      if (bound.taken.has(name)) continue;
      const value = resultOf(name);
      results.set(name, await engine.download(value.data, value));
    }
    let commits: readonly Replacement[] = bound.always;
    if (bound.applied !== undefined && bound.whenApplied.length > 0) {
      const flag = resultOf(bound.applied);
      const applied = results.get(bound.applied) ?? (await engine.download(flag.data, flag));
      if (applied.data[0] !== 0) commits = [...bound.always, ...bound.whenApplied];
    }
    state?.commit(new Map(commits.map(({ slot, output }) => [slot, resultOf(output)])));
    return Object.fromEntries(results);
  }

  #notePeak(): void {
    this.#peakBytes = Math.max(this.#peakBytes, this.#parts.engine.pool.bytes);
  }
}
