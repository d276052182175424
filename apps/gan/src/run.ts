import type { RunResult } from "@mp/cli";
import { firstBatch, fitByFlags, type Run, resultOf } from "@mp/cli/training";
import type { HostTensor } from "@mp/core";
import { graphCost } from "@mp/core/graph";
import { asOne } from "./as-one.js";
import { NETWORKS, type Network, type Options } from "./flags.js";
import { features } from "./judge/features.js";
import { frechetDistance } from "./judge/frechet-distance.js";
import { networks } from "./model.js";
import { fromBytes, type Pictures, trainingBatches } from "./pictures.js";
import { makePictures, SHEET_PICTURES } from "./samples.js";
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
  /** Generated pictures for a sheet. */
  readonly made: HostTensor<"f32">;
}

/** One training run from its first step to its distance from test pictures. */
export async function runGan(run: Run<Options>, pictures: Pictures): Promise<GanRun> {
  const { seed, noise, batch, width, checkpointing } = run.options;
  const { channels, size } = pictures;
  const models = networks({ channels, size, width, noise, checkpointing });
  const batches = trainingBatches(pictures, run.options);
  await using training = await ganTraining(models, run);
  const distance = async (): Promise<{ readonly value: number; readonly made: HostTensor<"f32"> }> => {
    const real = fromBytes(pictures.test.x);
    const count = Math.max(SHEET_PICTURES, real.shape[0] ?? 0);
    const made = await makePictures(training, models, { count, noise, seed, batch });
    return { value: frechetDistance(features(made), features(real)), made };
  };
  const untrained = await distance();
  // Only the discriminator's loss has an absolute meaning: 2 ln 2 if it cannot distinguish the pictures.
  const record = await fitByFlags({ ...run, training: asOne(training, "discriminator"), batches });
  const { value, made } = await distance();
  const graphs = training.graph(await firstBatch(batches));
  const counters = await training.counters();
  const networkRecord = (network: Network): NetworkRecord => {
    const { applied, skipped, scale } = counters[network];
    return { applied, skipped, finalScale: scale };
  };
  const records = {
    discriminator: networkRecord("discriminator"),
    generator: networkRecord("generator"),
  };
  const result = await resultOf({
    ...run,
    training,
    record,
    metric: { name: "Fréchet distance", value },
    flops: NETWORKS.reduce((sum, network) => sum + graphCost(graphs[network]).flops, 0),
    details: { data: pictures.summary, untrained: untrained.value, networks: records },
  });
  return { result, networks: records, made };
}
