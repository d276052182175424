import { numberIn, type Outputs } from "../definition/outputs.js";
import type { Agreement } from "./agreement.js";
import type { Collective } from "./collective.js";
import { broadcastSource, storeFromRankZero } from "./rank-checkpoint.js";
import { type RankReductionOptions, rankReduction } from "./rank-reduction.js";
import { startFacts } from "./start-facts.js";

/** Makes the collective of a run on one of several ranks. */
export function among(agreement: Agreement, options: RankReductionOptions): Collective {
  /** Steps that this run has made, the same number on all ranks. */
  let steps = 0;
  /** Rates that were set since the start or the last load. */
  let rates: Outputs = {};
  return {
    place: agreement.ranks,
    isReduced: true,
    reduction: () => rankReduction(agreement, options),
    starts: (...given) => agreement.enter("trainer", () => startFacts(...given)),
    makesStep: async (facts, signal) => {
      if (signal?.aborted === true) {
        await agreement.endsBy("aborted");
        return false;
      }
      const goesOn = await agreement.goesOn("step", async () => ({
        step: steps + 1,
        ...(await facts()),
        rates: describeRates(rates),
      }));
      if (goesOn) steps++;
      return goesOn;
    },
    begins: () => agreement.begin(),
    passes: (pass) => agreement.goesOn("pass", () => ({ pass, step: steps })),
    endsBy: (end) => agreement.endsBy(end),
    tell: (error) => agreement.tell(error),
    ratesSet: (set) => {
      rates = { ...rates, ...set };
    },
    store: (what, checkpoint, target) => storeFromRankZero(agreement, what, checkpoint, target),
    source: (what, source) => broadcastSource(agreement, what, source),
    all: (what, run) => agreement.all(what, run),
    loaded: (iteration) => {
      steps = iteration;
      rates = {};
    },
  };
}

const describeRates = (rates: Outputs): string =>
  Object.keys(rates)
    .sort()
    .map((slot) => `${slot} ${numberIn(rates, slot)}`)
    .join("; ");
