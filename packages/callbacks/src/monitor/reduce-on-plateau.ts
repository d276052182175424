import type { FitTraining, RatesByGroup } from "@mp/core/fit";
import { checks, invalid, readOptions, withDefault } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { betterBy, DELTA, MONITOR, type MonitorOptions } from "./is-better.js";
import { Monitor, type MonitorState } from "./monitor.js";

/** Options of `reduceOnPlateau`: the number to follow, and how the rates decay. */
export interface ReduceOnPlateauOptions extends Omit<MonitorOptions, "minDelta"> {
  /** Factor by which the learning rates are multiplied, above 0 and below 1; default 0.1. */
  readonly factor?: number;
  /** Number of values in a row without improvement after which the rates are reduced; default 10. */
  readonly patience?: number;
  /** Smallest improvement that counts, in the number's unit; default 1e-4. */
  readonly minDelta?: number;
  /** Number of values after a reduction that do not count against `patience`; default 0. */
  readonly cooldown?: number;
  /** Lower limit of every rate; default 0. */
  readonly minRate?: number;
}

const OPTIONS = {
  ...MONITOR,
  minDelta: withDefault(1e-4, DELTA),
  factor: withDefault(
    0.1,
    checks.claim(
      "a number above 0 and below 1",
      (value) => typeof value === "number" && value > 0 && value < 1,
    ),
  ),
  patience: withDefault(10, checks.count),
  cooldown: withDefault(0, checks.integer(0)),
  minRate: withDefault(0, DELTA),
};

/**
 * Multiplies every settable learning rate by `factor` when the monitored number has not improved `patience` times in a
 * row, like `ReduceLROnPlateau` of Keras; PyTorch's waits one value longer. The rates are part of the run's state:
 * nothing is compiled again, and checkpoints contain them.
 * @throws MP_INVALID_ARGUMENT for invalid options; `fit` rejects with it for an unknown monitor or no settable rate
 */
export function reduceOnPlateau(options: ReduceOnPlateauOptions = {}): AnyCallback {
  const read = readOptions<ReduceOnPlateauOptions, typeof OPTIONS>("reduceOnPlateau", options, OPTIONS, {
    example: "{ patience: 10 }",
    elsewhere: { minLr: "it is called minRate", threshold: "it is called minDelta" },
  });
  const { monitor: number, patience, cooldown, factor, minRate, name = `reduceOnPlateau ${number}` } = read;
  const isBetter = betterBy("reduceOnPlateau", read);
  const monitor = new Monitor("reduceOnPlateau", number);
  let training: FitTraining | undefined;
  let state: Waiting = { best: null, waited: 0, cooling: 0 };
  const reduce = async (): Promise<boolean> => {
    const rates = await (training as FitTraining).rates();
    const reduced = mapRates(rates, (rate) => Math.min(rate, Math.max(rate * factor, minRate)));
    if (JSON.stringify(reduced) === JSON.stringify(rates)) return false;
    await (training as FitTraining).setRates(reduced);
    return true;
  };
  const hooks = monitor.hooks(async (value) => {
    const cooling = Math.max(0, state.cooling - 1);
    const waited = state.cooling > 0 ? 0 : state.waited;
    if (isBetter(value, state.best ?? undefined)) state = { best: value, waited: 0, cooling };
    else if (cooling > 0) state = { ...state, waited, cooling };
    else if (waited + 1 < patience) state = { ...state, waited: waited + 1, cooling };
    else if (await reduce()) state = { ...state, waited: 0, cooling: cooldown };
    // All rates are at `minRate`. The next value tries again, because the program may have set other rates.
    else state = { ...state, waited, cooling };
  });
  return {
    ...hooks,
    onStart: async (start) => {
      training = start.training;
      if (Object.keys(await training.rates()).length === 0) {
        throw invalid(
          "reduceOnPlateau: no learning rate can be set; make it so: learningRate: settable(1e-3)",
        );
      }
      await hooks.onStart?.(start);
    },
    state: {
      name,
      save: () => ({ ...state, monitor: monitor.save() }),
      load: (saved) => {
        const { monitor: sums, ...rest } = saved as unknown as Waiting & { readonly monitor: MonitorState };
        state = rest;
        monitor.load(sums);
      },
    },
  };
}

/** `waited` counts the values without improvement; `cooling` counts the values that are left of the cooldown. */
type Waiting = { readonly best: number | null; readonly waited: number; readonly cooling: number };

function mapRates(rates: RatesByGroup, reduced: (rate: number) => number): RatesByGroup {
  const entries = Object.entries(rates).map(([name, rate]) => [
    name,
    typeof rate === "number" ? reduced(rate) : mapRates(rate, reduced),
  ]);
  return Object.fromEntries(entries) as RatesByGroup;
}
