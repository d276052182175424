import type { HostTensor } from "@mp/graph";
import { type Check, checks, invalid, shown } from "@mp/graph/internal";
import type { Outputs } from "../train/definition/outputs.js";
import type { AllReduce } from "../train/objective/window-reduction.js";

/** The workers of a distributed run, called a communicator in NNabla. */
export interface Communicator {
  /**
   * Adds the tensors of all workers element by element. Every worker passes f32 tensors of the same order and shapes,
   * and gets the same sums. An infinity or NaN of any worker must come through as an infinity or NaN. `division` is
   * false: the sums are not divided by the number of workers.
   */
  allReduce(
    tensors: readonly HostTensor[],
    options: { readonly division: boolean },
  ): Promise<readonly HostTensor[]>;
}

export const communicator: Check = checks.claim(
  "an object with allReduce",
  (value) => typeof (value as Partial<Communicator> | null)?.allReduce === "function",
);

const GRADIENTS = "window/gradients";
/** Slot of a number that is summed with the gradients: 0, or NaN if a loss or gradient was not finite. */
const POISON = "window/poison";

/**
 * Makes the trainer's hook that adds the gradients named by `grads`, by default all, over the workers. Each worker
 * keeps its own loss. If one worker has a loss or gradient that is not finite, even one that is not exchanged, all
 * workers learn of it and retry or skip the same steps.
 */
export function buildExchange(comm: Communicator, grads: readonly string[] | undefined): AllReduce {
  return async (window) => {
    const slots = Object.keys(window).filter((slot) => slot.startsWith(GRADIENTS));
    const exchanged = slots.filter((slot) => grads === undefined || grads.includes(gradientName(slot)));
    const kept = slots.filter((slot) => !exchanged.includes(slot));
    const poison = kept.every((slot) => holdsNumbers(tensorIn(window, slot)))
      ? tensorIn(window, POISON)
      : { ...tensorIn(window, POISON), data: Float32Array.of(Number.NaN) };
    const own = [...exchanged.map((slot) => tensorIn(window, slot)), poison as HostTensor];
    const sums: unknown = await comm.allReduce(own, { division: false });
    if (!Array.isArray(sums) || sums.length !== own.length) {
      const got = Array.isArray(sums) ? `${sums.length}` : shown(sums);
      throw invalid(`comm: allReduce got ${own.length} tensors and returned ${got}`);
    }
    const named = [...exchanged, POISON].map((slot, index) => [slot, sums[index] as HostTensor] as const);
    return { ...window, ...Object.fromEntries(named) };
  };
}

/** Path of the parameter that a slot's gradient belongs to; empty if the parameters are one tensor. */
const gradientName = (slot: string): string => slot.slice(GRADIENTS.length + 1);

const tensorIn = (window: Outputs, slot: string): HostTensor => window[slot] as HostTensor;

function holdsNumbers({ data }: HostTensor): boolean {
  return (data as Float32Array).every(Number.isFinite);
}
