import { precisionOf, withHalfReductions } from "@mp/cli/training";
import type { BackendManifest, Precision } from "@mp/core";
import type { Options } from "./flags.js";

/** The precision of the flags, with `--half-reductions`. */
export function precisionOfRun(options: Options, manifest: BackendManifest): Precision {
  const given = precisionOf(options, manifest);
  return options.halfReductions ? withHalfReductions(given) : given;
}
