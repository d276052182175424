import type { Origin, Phase } from "@mp/graph";
import type { StringMap } from "./model.js";

/** On a node that stands for a part of one of ours: that node's name. On a node of ours it is the name itself. */
export const NODE_KEY = "mp.node";
/** On nodes that a lowering added around, or instead of, the one of the same op. */
export const HELPER_KEY = "mp.helper";
/** On a graph input. */
export const ROLE_KEY = "mp.role";
/** On an input or output whose name ONNX could not take as it was. */
export const NAME_KEY = "mp.name";
/** On a Constant: the number before rounding. */
export const LITERAL_KEY = "mp.literal";

/** On a Scan: how many of its stacked results are the gradient's alone. */
export const SAVED_KEY = "mp.saved";
/** On a Scan that has no sequences, and is given one that its body does not read. */
export const COUNTED_KEY = "mp.counted";
/** On a Scan: the values from outside that its body reads, each with its name and role there, as JSON. */
export const INVARIANTS_KEY = "mp.invariants";

const SCOPE_KEY = "mp.scope";
const PHASE_KEY = "mp.phase";
const LINE_KEY = "mp.line";
const SEGMENT_KEY = "mp.segment";
const FORWARD_KEY = "mp.forward";

const PHASES: readonly Phase[] = ["forward", "loss", "backward", "update"];

/** A node's origin as metadata; the phase is always there and marks a node that we wrote. */
export function originToMetadata({ scope, phase, line, segment, forward }: Origin): StringMap {
  return {
    [PHASE_KEY]: phase,
    ...(scope === "" ? {} : { [SCOPE_KEY]: scope }),
    ...(line === undefined ? {} : { [LINE_KEY]: line }),
    ...(segment === undefined ? {} : { [SEGMENT_KEY]: String(segment) }),
    ...(forward === undefined ? {} : { [FORWARD_KEY]: forward }),
  };
}

/** Undefined for the metadata of a node that we did not write. */
export function originFromMetadata(metadata: StringMap): Origin | undefined {
  const phase = PHASES.find((name) => name === metadata[PHASE_KEY]);
  if (phase === undefined) return undefined;
  const segment = Number(metadata[SEGMENT_KEY] ?? Number.NaN);
  const line = metadata[LINE_KEY];
  const forward = metadata[FORWARD_KEY];
  return {
    scope: metadata[SCOPE_KEY] ?? "",
    phase,
    ...(line === undefined ? {} : { line }),
    ...(Number.isSafeInteger(segment) ? { segment } : {}),
    ...(forward === undefined ? {} : { forward }),
  };
}
