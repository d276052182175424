import { isPromiseLike } from "../backend/is-promise-like.js";
import { MpError } from "../errors.js";
import type { Op, OpAttributes } from "../graph/attributes.js";
import type { ValueType } from "../graph/graph.js";
import { shown } from "../shown.js";
import type { Engine } from "./engine.js";
import type { KernelTensor } from "./kernel.js";
import type { Plan, PlanStep } from "./plan.js";

/** The tensors of a run, by slot; each entry is one use of its storage. */
export type Slots<T> = (KernelTensor<T> | undefined)[];

/**
 * Calls one kernel and stores its results. Returns a promise only if the kernel returned one, so that other kernels do
 * not wait for a microtask.
 */
export function runStep<T>(
  engine: Engine<T>,
  plan: Plan,
  { node, reads, writes }: PlanStep,
  slots: Slots<T>,
): Promise<void> | undefined {
  const fail = (error: unknown): never => {
    const failure = engine.storages.failure(`the kernel of ${node.op}`, error);
    const { line } = node.origin;
    throw new MpError(
      failure.code,
      `${failure.message}, in node ${node.name}${line === undefined ? "" : ` (at ${line})`}`,
      { details: { ...failure.details, node: node.name }, cause: failure.cause ?? failure },
    );
  };
  const take = (results: readonly T[]): void => {
    if (!Array.isArray(results)) {
      throw new Error(`it gave ${shown(results)} in place of a list of results, here of ${writes.length}`);
    }
    const given = results.filter((data) => data !== undefined && data !== null).length;
    if (results.length !== writes.length || given !== writes.length) {
      for (const data of results) if (data !== undefined && data !== null) release(data);
      throw new Error(`it gave ${given} of ${writes.length} results`);
    }
    writes.forEach((slot, index) => {
      slots[slot] = engine.storages.retain(results[index] as T, plan.types[slot] as ValueType);
    });
  };
  const release = (data: T): void => engine.storages.pool.drop(engine.storages.pool.retain(data, 0));
  try {
    const operands = reads.map((slot) => at(slots, slot));
    const results = callKernel(engine, node.op, operands, node.attributes, node.outputs);
    if (isPromiseLike(results)) return Promise.resolve(results).then(take).catch(fail);
    take(results);
    return undefined;
  } catch (error) {
    return fail(error);
  }
}

function callKernel<T, K extends Op>(
  engine: Engine<T>,
  op: K,
  operands: readonly KernelTensor<T>[],
  attributes: OpAttributes[K],
  outputs: readonly ValueType[],
): readonly T[] | Promise<readonly T[]> {
  const kernel = engine.kernels[op];
  if (kernel === undefined) throw new Error("internal: no kernel");
  return kernel(operands, attributes, outputs);
}

export function at<T>(slots: Slots<T>, slot: number): KernelTensor<T> {
  const value = slots[slot];
  if (value === undefined) throw new Error(`internal: slot ${slot} is empty`);
  return value;
}

export function shareValue<T>(engine: Engine<T>, value: KernelTensor<T>): KernelTensor<T> {
  engine.storages.pool.share(value.data);
  return value;
}

export function dropAll<T>(engine: Engine<T>, slots: Slots<T>): void {
  slots.forEach((value) => {
    if (value !== undefined) engine.storages.pool.drop(value.data);
  });
  slots.length = 0;
}
