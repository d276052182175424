import type { BackendWarning } from "../backend.js";

/**
 * What the user should know and training can live with: the engine's own warnings, `numerics` for what a policy
 * or a scale rounds away, `gradient` for parameters that no gradient leads to, `data` for batches that are left out
 * or a fit that has nothing to do, `state` for model state that never changes, `checkpoint` for a file made under other settings.
 */
export interface TrainingWarning {
  readonly type: BackendWarning["type"] | "numerics" | "gradient" | "data" | "state" | "checkpoint";
  readonly message: string;
  /** JSON-able facts for programs: the parameters meant. */
  readonly details?: Readonly<Record<string, unknown>>;
}
