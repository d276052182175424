import { type Trainer, type TrainerOptions, trainer } from "@mp/core";
import type { Backend, HostTensor, State } from "@mp/graph";
import type { Tensors } from "../cases/kinds/graph-case.js";
import { EXACT } from "../compare/allowance.js";
import { compareTensors } from "../compare/compare-tensors.js";
import { observingStates } from "../delegate.js";
import { expectThat, fail } from "../expectations.js";

/** A trainer with access to its whole state, which users do not have. */
export interface Session<P, B, M> {
  readonly training: Trainer<P, B, M>;
  readonly state: State;
  /** Reads every slot of the training state, except those in which microbatches accumulate. */
  readonly snapshot: () => Promise<Tensors>;
}

/** Runs `body` with a trainer on the backend, then disposes of the trainer. Warnings are ignored. */
export async function withTrainer<P, B, M, R>(
  backend: Backend,
  options: Omit<TrainerOptions<P, B, M>, "backend">,
  body: (session: Session<P, B, M>) => Promise<R>,
): Promise<R> {
  const observed = observingStates(backend);
  const training = await trainer<P, B, M, string>({
    onWarning: () => undefined,
    ...options,
    backend: observed.backend,
  });
  try {
    const [state] = observed.states;
    if (state === undefined) throw new Error("internal: a trainer without a state");
    const snapshot = async (): Promise<Tensors> =>
      state.read(Object.keys(state.types).filter((slot) => !slot.startsWith("window/")));
    return await body({ training, state, snapshot });
  } finally {
    await training.dispose();
  }
}

/** Whether a slot may change only with an applied step. */
export const isTransactional = (slot: string): boolean =>
  /^(master|optimizer|model|ema|applied|frozen)(\/|$)/.test(slot);

/** @throws unless each slot for which `moves` is false has the same bits before and after */
export function expectUnmoved(
  after: Tensors,
  before: Tensors,
  what: string,
  moves: (slot: string) => boolean = (slot) => !isTransactional(slot),
): void {
  for (const [slot, want] of Object.entries(before)) {
    if (moves(slot)) continue;
    const mismatch = compareTensors(after[slot], want, EXACT);
    if (mismatch !== undefined) fail(`${what} moved ${slot}: ${mismatch}`);
  }
}

/** @throws unless two snapshots hold the same bits */
export function expectSameState(got: Tensors, want: Tensors, what: string): void {
  expectThat(Object.keys(got).length === Object.keys(want).length, `${what}: the states have other slots`);
  for (const [slot, tensor] of Object.entries(want)) {
    const mismatch = compareTensors(got[slot], tensor, EXACT);
    if (mismatch !== undefined) fail(`${what}: ${slot} ${mismatch}`);
  }
}

/** The number in a tensor of one element. */
export function numberIn(tensors: Tensors, name: string): number {
  const [x] = (tensors[name] as HostTensor | undefined)?.data ?? [];
  if (x === undefined) throw new Error(`internal: no ${name}`);
  return Number(x);
}
