import { allCases } from "@mp/conformance";

/** What this package does itself. */
const OWN = [
  "manifest",
  "factory",
  "transfer",
  "lifecycle",
  "aliasing",
  "state",
  "constant",
  "order",
  "repeat",
  "stats",
];

/** Training as a whole. */
const TRAINING = [
  ...["random", "finite-check", "autocast", "loss-scale", "master-weights", "skip", "clip", "retry"],
  ...["skip-budget", "report", "accumulate", "all-reduce", "objectives", "remat", "run", "resume"],
  ...["determinism", "leak", "bad-input"],
];

const groupOf = ({ id }: { readonly id: string }): string => id.slice(0, id.indexOf("/"));

/**
 * The groups of the suite that are run. Single operators take as long as their shaders compile, and are those that
 * `@mp/backend-ort` is tested with; `MP_SUITE=whole` runs them here too.
 */
export const groups: readonly string[] =
  process.env["MP_SUITE"] === "whole" ? [...new Set(allCases.map(groupOf))] : [...OWN, ...TRAINING];

/** Whether a case belongs to them. */
export const isRun = (subject: { readonly id: string }): boolean => groups.includes(groupOf(subject));
