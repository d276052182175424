import type { AppContext, RunResult } from "@mp/cli";
import { firstBatch, fitByFlags, onBackend, precisionOf, resultOf } from "@mp/cli/training";
import type { HostTensor } from "@mp/core";
import { graphCost } from "@mp/core/graph";
import { asOne } from "./as-one.js";
import { NETWORKS, type Network, type Options } from "./flags.js";
import { features } from "./judge/features.js";
import { frechetDistance } from "./judge/frechet-distance.js";
import { networks } from "./model.js";
import { fromBytes, type Pictures, trainingBatches } from "./pictures.js";
import { madePictures, SHEET_PICTURES } from "./samples.js";
import { ganTraining } from "./training.js";

/** The entry of each network in `details.networks`. */
export interface NetworkRecord {
  readonly applied: number;
  readonly skipped: number;
  readonly finalScale: number;
}

export interface GanRun {
  readonly result: RunResult;
  readonly networks: { readonly [N in Network]: NetworkRecord };
  /** Made pictures for a sheet. */
  readonly made: HostTensor<"f32">;
}

/** One training run from its first step to its distance from test pictures. */
export function runGan(
  options: Options,
  label: string,
  pictures: Pictures,
  context: AppContext,
): Promise<GanRun> {
  return onBackend(options, async (backend) => {
    const { seed, noise, batch, width, checkpointing } = options;
    const { channels, size } = pictures;
    const precision = precisionOf(options, backend.manifest);
    const models = networks({ channels, size, width, noise, checkpointing });
    const batches = trainingBatches(pictures, options);
    const { signal } = context;
    await using training = await ganTraining(models, { backend, precision, options, signal });
    const distance = async (): Promise<{ readonly value: number; readonly made: HostTensor<"f32"> }> => {
      const real = fromBytes(pictures.test.x);
      const count = Math.max(SHEET_PICTURES, real.shape[0] ?? 0);
      const made = await madePictures(training, models, { count, noise, seed, batch });
      return { value: frechetDistance(features(made), features(real)), made };
    };
    const untrained = await distance();
    // The discriminator's loss is the one with a meaning of its own: 2 ln 2 where it cannot tell.
    const record = await fitByFlags({
      training: asOne(training, "discriminator"),
      batches,
      options,
      context,
      label,
    });
    const { value, made } = await distance();
    const first = await firstBatch(batches);
    const graphs = training.graph(first);
    const counters = await training.counters();
    const recordOf = (network: Network): NetworkRecord => {
      const { applied, skipped, scale } = counters[network];
      return { applied, skipped, finalScale: scale };
    };
    const records = { discriminator: recordOf("discriminator"), generator: recordOf("generator") };
    const result = await resultOf({
      context,
      options,
      backend,
      training,
      record,
      metric: { name: "Fréchet distance", value },
      flops: NETWORKS.reduce((sum, network) => sum + graphCost(graphs[network]).flops, 0),
      details: { data: pictures.summary, untrained: untrained.value, networks: records },
    });
    return { result, networks: records, made };
  });
}
