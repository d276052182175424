import { MpError } from "@mp/core";
import type { Opening } from "./open-weights.js";

export interface WeightMismatch {
  /** Path of the parameter or statistic in the model: `params/encoder/0/kernel`. */
  readonly path: string;
  /** Names of the file's tensors for this leaf. */
  readonly from: readonly string[];
  /** Why these tensors do not fit. */
  readonly reason: string;
}

/** The outcome for each tensor of a file and each leaf of a model. */
export interface WeightsReport {
  /** Leaves of the model that were loaded, each with the names of the file's tensors. */
  readonly matched: readonly { readonly path: string; readonly from: readonly string[] }[];
  /** Leaves whose tensors in the file have another shape or dtype; they keep their initial values. */
  readonly mismatched: readonly WeightMismatch[];
  /** Paths of leaves for which the file has no tensor; they keep their initial values. */
  readonly missing: readonly string[];
  /** Names of the file's tensors that match no leaf of the model. */
  readonly unexpected: readonly string[];
  /** Names of tensors that `rename` leaves out, and of buffers such as `num_batches_tracked`. */
  readonly ignored: readonly string[];
}

/** Mismatches that a caller may accept. */
export type Allowed = "missing" | "mismatched" | "unexpected";
export const ALLOWED: readonly Allowed[] = ["missing", "mismatched", "unexpected"];

const PROBLEMS: Readonly<Record<Allowed, (report: WeightsReport) => readonly string[]>> = {
  missing: ({ missing }) => missing.map((path) => `${quoteName(path)} is not in the file`),
  mismatched: ({ mismatched }) => mismatched.map(({ path, reason }) => `${quoteName(path)}: ${reason}`),
  unexpected: ({ unexpected }) =>
    unexpected.map((name) => `${JSON.stringify(name)} of the file has no place`),
};
/** The name that `rename` would have to return for a path: "0.bias" for `params/0/bias`. */
const quoteName = (path: string): string => JSON.stringify(path.split("/").slice(1).join("."));

const MOST_SHOWN = 5;

export interface Subject extends Opening {
  /** Advice if the file does not fit the model. */
  remedy(failed: readonly Allowed[]): string;
}

/**
 * @param others problems that are not in the report
 * @throws MP_CHECKPOINT_MISMATCH with the report in its details, for problems that are not allowed
 */
export function expectComplete(
  { what, path, remedy }: Subject,
  report: WeightsReport,
  allowed: readonly Allowed[] = [],
  others: readonly string[] = [],
): void {
  const failed = ALLOWED.filter((kind) => !allowed.includes(kind) && PROBLEMS[kind](report).length > 0);
  if (failed.length === 0 && others.length === 0) return;
  const texts = [...failed.map((kind) => PROBLEMS[kind](report)), others].flatMap((all) => [
    ...all.slice(0, MOST_SHOWN),
    ...(all.length > MOST_SHOWN ? [`and ${all.length - MOST_SHOWN} more`] : []),
  ]);
  throw new MpError(
    "MP_CHECKPOINT_MISMATCH",
    `${what}: ${path} does not fit the model: ${texts.join("; ")}; nothing was loaded; ${remedy(failed)}`,
    { details: { path, report } },
  );
}
