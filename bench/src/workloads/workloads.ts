import type { WorkloadName } from "../job.js";
import { ENCODER_SIZES, encoder } from "./encoder.js";
import { MLP_SIZES, mlp } from "./mlp.js";
import { WORD_MODEL_SIZES, wordModel } from "./word-model.js";
import type { Workload } from "./workload.js";

/** W3 as the peer builds it: ResNet-20 on images of 32 by 32, three stages of three blocks. */
const RESIDUAL_SIZES = { batch: 64, size: 32, widths: [16, 32, 64], blocks: 3, classes: 10 };

/** Sizes by workload: peers get them with their job, so that they are written down once. */
export const WORKLOAD_SIZES: Readonly<Record<WorkloadName, object>> = {
  w1: MLP_SIZES,
  w2: WORD_MODEL_SIZES,
  w3: RESIDUAL_SIZES,
  w4: ENCODER_SIZES,
};

const built: Readonly<Record<WorkloadName, () => Workload>> = {
  w1: () => mlp(),
  w2: () => wordModel(),
  w3: () => {
    throw new RangeError("w3: takes convolution and batch normalisation, which @mp/core does not have yet");
  },
  w4: () => encoder(),
};

/** Draws data and initial weights. @throws RangeError for a workload that cannot be expressed yet */
export function workloadOf(name: WorkloadName): Workload {
  return built[name]();
}
