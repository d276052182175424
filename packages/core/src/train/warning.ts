import type { BackendWarning } from "../backend.js";

/**
 * What the user should know and training can live with: the engine's own warnings, `numerics` for what a policy
 * or a scale rounds away, `data` for batches that are left out, `checkpoint` for a file made under other settings.
 */
export interface TrainingWarning {
  readonly type: BackendWarning["type"] | "numerics" | "data" | "checkpoint";
  readonly message: string;
}
