import type { Backend } from "@mp/graph";
import type { Definitions } from "../definition/definition.js";
import type { TrainingWarning } from "../definition/warning.js";
import type { AllReduce } from "../objective/window-reduction.js";
import type { Agreement } from "../ranks/agreement.js";

/** Options that start a run: the options of the trainer, checked. */
export interface RunOptions {
  readonly backend: Backend;
  readonly definitions: Definitions;
  readonly parameters: unknown;
  readonly modelState: unknown;
  readonly allReduce: AllReduce | undefined;
  /** The agreement with a run's other processes; undefined if there are none. */
  readonly agreement: Agreement | undefined;
  /** Whether all ranks share one model state. */
  readonly averageModelState: boolean;
  /** `optimizer` shards master weights and optimizer state over the ranks; otherwise nothing is sharded. */
  readonly shard: "optimizer" | undefined;
  readonly maxConsecutiveSkips: number;
  readonly programs: number;
  /** Steps between two counts of updates. */
  readonly checkUpdates: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onWarning: (warning: TrainingWarning) => void;
}
