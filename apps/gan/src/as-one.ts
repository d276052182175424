import type { Fed, FitOptions, Trainer, TrainingData } from "@mp/core";
import type { Network } from "./flags.js";
import type { Batch, ganTraining } from "./training.js";

export type Training = Awaited<ReturnType<typeof ganTraining>>;
type Data = Fed<Batch>;

/**
 * The training in the form that the common flags need, with the results of one of its two networks. Steps, files and
 * the position in the data belong to both networks.
 */
export function asOne(training: Training, network: Network): Trainer<unknown, Batch, unknown> {
  const one = {
    precision: training.precision,
    fit: (batches: TrainingData<Data>, { callbacks = [], steps }: FitOptions<string, Data> = {}) =>
      training.fit(batches, {
        ...(steps === undefined ? {} : { steps }),
        callbacks: callbacks.map((callback) => ({
          onStart: (start) => callback.onStart?.(start),
          onStep: ({ discriminator, generator, ...position }) =>
            callback.onStep?.({ ...{ discriminator, generator }[network], ...position }),
          onEnd: (end) => callback.onEnd?.(end),
        })),
      }),
    load: (path: string) => training.load(path),
    save: (path: string) => training.save(path),
    counters: async () => (await training.counters())[network],
    diagnose: async (batches: readonly Data[], { scale }: { readonly scale?: number } = {}) =>
      (await training.diagnose(batches, scale === undefined ? {} : { scale: { [network]: scale } }))[network],
    precisionReport: async (batch: Data, options: object) =>
      (await training.precisionReport(batch, options))[network],
  };
  // The common flags use no other member of a trainer.
  return one as unknown as Trainer<unknown, Batch, unknown>;
}
