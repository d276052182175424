import type { Named, Program } from "../backend/hooks.js";
import type { MemoryReport, ProfileRow } from "../contract/backend.js";
import type { ValueType } from "../graph/graph.js";
import type { Engine } from "./engine.js";
import type { Plan } from "./plan.js";
import { at, dropAll, runStep, type Slots, shareValue } from "./run-step.js";

/** Executes a plan: calls kernels in graph order, counts the uses of storages, and frees each after its last use. */
export class KernelProgram<T> implements Program<T> {
  readonly #engine: Engine<T>;
  readonly #plan: Plan;
  readonly #constants: Slots<T>;
  #peakBytes = 0;

  private constructor(engine: Engine<T>, plan: Plan, constants: Slots<T>) {
    this.#engine = engine;
    this.#plan = plan;
    this.#constants = constants;
  }

  /** Uploads the constants, once for all runs. */
  static async create<T>(engine: Engine<T>, plan: Plan): Promise<KernelProgram<T>> {
    const constants: Slots<T> = [];
    try {
      for (const step of plan.constants) {
        if (engine.kernels.Constant !== undefined) await runStep(engine, plan, step, constants);
        else if (step.node.op === "Constant") {
          const { value } = step.node.attributes;
          const { dtype, shape } = value;
          constants[step.writes[0] as number] = { dtype, shape, data: await engine.storages.upload(value) };
        }
      }
    } catch (error) {
      dropAll(engine, constants);
      throw error;
    }
    return new KernelProgram(engine, plan, constants);
  }

  isRead(input: string): boolean {
    return this.#plan.isRead(this.#plan.inputs.get(input) as number);
  }

  async run(operands: Named<T>, onRow?: (row: ProfileRow) => void): Promise<Named<T>> {
    const slots: Slots<T> = [];
    for (const [name, data] of Object.entries(operands)) {
      const slot = this.#plan.inputs.get(name) as number;
      slots[slot] = { ...(this.#plan.types[slot] as ValueType), data };
    }
    try {
      await this.#execute(slots, onRow);
      const outputs = [...this.#plan.outputs].map(
        ([name, slot]) => [name, shareValue(this.#engine, at(slots, slot)).data] as const,
      );
      return Object.fromEntries(outputs);
    } finally {
      dropAll(this.#engine, slots);
    }
  }

  memory(): MemoryReport {
    return { peakBytes: Math.max(this.#peakBytes, this.#engine.storages.pool.bytes) };
  }

  dispose(): void {
    dropAll(this.#engine, this.#constants);
  }

  async #execute(slots: Slots<T>, onRow?: (row: ProfileRow) => void): Promise<void> {
    const engine = this.#engine;
    this.#constants.forEach((constant, slot) => {
      slots[slot] = constant && shareValue(engine, constant);
    });
    this.#notePeak();
    for (const step of this.#plan.steps) {
      const started = onRow === undefined ? 0 : performance.now();
      const running = runStep(engine, this.#plan, step, slots);
      if (running !== undefined) await running;
      const { name: node, op } = step.node;
      onRow?.({ node, op, microseconds: 1000 * (performance.now() - started), calls: 1 });
      this.#notePeak();
      for (const slot of step.frees) {
        const freed = slots[slot];
        slots[slot] = undefined;
        if (freed !== undefined) engine.storages.pool.drop(freed.data);
      }
    }
  }

  #notePeak(): void {
    this.#peakBytes = Math.max(this.#peakBytes, this.#engine.storages.pool.bytes);
  }
}
