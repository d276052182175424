import type { Options } from "./flags.js";

/** Formats the task's metric: perplexity, or a share as a percentage. */
export const show =
  ({ task }: Pick<Options, "task">) =>
  (value: number): string =>
    task === "classify" ? (100 * value).toFixed(2) : value.toFixed(2);
