import type { CallbackAnswer } from "@mp/core/fit";
import { type Best, betterBy, type IsBetter, type ReadMonitor } from "./is-better.js";
import { Monitor, type MonitorState } from "./monitor.js";

/** The state of a `BestSoFar` that checkpoints store. */
export type BestState = { readonly best: { readonly [K in keyof Best]: Best[K] } | null } & {
  readonly monitor: ReturnType<Monitor["save"]>;
};

/** Follows a number of the run and keeps its best value. */
export class BestSoFar {
  readonly #monitor: Monitor;
  readonly #isBetter: IsBetter;
  #best: Best | undefined;

  /** @throws MP_INVALID_ARGUMENT if `mode` is needed */
  constructor(owner: string, read: ReadMonitor) {
    this.#monitor = new Monitor(owner, read.monitor);
    this.#isBetter = betterBy(owner, read);
  }

  get best(): Best | undefined {
    return this.#best;
  }

  /** Makes hooks that call `onValue` after each value. */
  hooks(onValue: (isBest: boolean) => CallbackAnswer): ReturnType<Monitor["hooks"]> {
    return this.#monitor.hooks((value, { step, epoch }) => {
      const isBest = this.#isBetter(value, this.#best?.value);
      if (isBest) this.#best = { value, step, epoch };
      return onValue(isBest);
    });
  }

  save(): BestState {
    return { best: this.#best === undefined ? null : { ...this.#best }, monitor: this.#monitor.save() };
  }

  load({ best, monitor }: { readonly best: Best | null; readonly monitor: MonitorState }): void {
    this.#best = best ?? undefined;
    this.#monitor.load(monitor);
  }
}
