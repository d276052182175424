import type { WorkloadName } from "../job.js";
import { ENCODER_SIZES, encoder } from "./encoder.js";
import { MLP_SIZES, mlp } from "./mlp.js";
import { RESIDUAL_NET_SIZES, residualNet } from "./residual-net.js";
import { LARGE_WORD_MODEL_SIZES, WORD_MODEL_SIZES, wordModel } from "./word-model.js";
import type { Workload } from "./workload.js";

/** Sizes by workload: peers get them with their job, so that they are defined only once. */
export const WORKLOAD_SIZES: Readonly<Record<WorkloadName, object>> = {
  w1: MLP_SIZES,
  w2: WORD_MODEL_SIZES,
  w3: RESIDUAL_NET_SIZES,
  w4: ENCODER_SIZES,
  "w2-1536": LARGE_WORD_MODEL_SIZES,
};

const built: Readonly<Record<WorkloadName, () => Workload>> = {
  w1: () => mlp(),
  w2: () => wordModel(),
  w3: () => residualNet(),
  w4: () => encoder(),
  "w2-1536": () => wordModel(LARGE_WORD_MODEL_SIZES),
};

/** Draws data and initial weights. */
export function workloadOf(name: WorkloadName): Workload {
  return built[name]();
}
