import { MpError } from "@mp/graph";
import type { GradientCut, UnreachedLeaves } from "@mp/graph/internal";
import type { TrainingWarning } from "../definition/warning.js";

/** Number of names in a message; the message's details have all of them. */
const NAMED = 3;

/**
 * Handles parameters without a gradient. A loss without a gradient to any parameter is an error; a loss that leaves
 * some out may be intended and gets a warning.
 * @throws MP_NOT_DIFFERENTIABLE naming the loss's line and the operators that stop its gradients
 */
export function warningOfUnreached({ paths, isAll, cuts, line }: UnreachedLeaves): TrainingWarning {
  if (isAll) {
    const place = line === undefined ? "" : ` (at ${line})`;
    throw new MpError(
      "MP_NOT_DIFFERENTIABLE",
      `loss${place}: no gradient leads from it to any parameter, so nothing would be trained; ${remedy(cuts)}`,
      { details: { cuts, ...(line === undefined ? {} : { line }) } },
    );
  }
  const left = `${listNames(paths)} ${paths.length === 1 ? "takes" : "take"} no part in the gradient and will not be trained`;
  const message = `loss: ${left}; ${remedy(cuts)}, or say so with frozen`;
  return { type: "gradient", message, details: { parameters: paths, cuts } };
}

function remedy(cuts: readonly GradientCut[]): string {
  if (cuts.length === 0) return "make the loss of the parameters that it gets as its first argument";
  const places = cuts.map(({ op, node, reason, line }) => `${op} (${line ?? node}; ${reason})`);
  return `${listNames(places)} ${cuts.length === 1 ? "lets" : "let"} no gradient through: use what is differentiable, such as a cross entropy instead of a count of errors`;
}

function listNames(names: readonly string[]): string {
  const more = names.length - NAMED;
  return names.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
