import type { Origin, Phase } from "@mp/graph";
import type { StringMap } from "./model.js";

/** On an ONNX node: the name of the graph node that it implements, alone or with other nodes. */
export const NODE_KEY = "mp.node";
/** Marks a node that a lowering wrote in addition to, or instead of, a node with the graph node's op. */
export const HELPER_KEY = "mp.helper";
/** On a graph input: the input's role. */
export const ROLE_KEY = "mp.role";
/** On an input or output whose name had to change: the name in the graph. */
export const NAME_KEY = "mp.name";
/** On a Constant: the number before rounding. */
export const LITERAL_KEY = "mp.literal";

/** On a Scan: the number of its stacked results that only the gradient reads. */
export const SAVED_KEY = "mp.saved";
/** On a Scan without sequences in the graph. ONNX requires a sequence, so one that is ignored was added. */
export const COUNTED_KEY = "mp.counted";
/** On a Scan: the outer values that its body reads, each with its name and role in the body, as JSON. */
export const INVARIANTS_KEY = "mp.invariants";

const SCOPE_KEY = "mp.scope";
const PHASE_KEY = "mp.phase";
const LINE_KEY = "mp.line";
const SEGMENT_KEY = "mp.segment";
const FORWARD_KEY = "mp.forward";

const PHASES: readonly Phase[] = ["forward", "loss", "backward", "update"];

/** Writes a node's origin as metadata. The phase is always written, so it marks nodes of this package. */
export function originToMetadata({ scope, phase, line, segment, forward }: Origin): StringMap {
  return {
    [PHASE_KEY]: phase,
    ...(scope === "" ? {} : { [SCOPE_KEY]: scope }),
    ...(line === undefined ? {} : { [LINE_KEY]: line }),
    ...(segment === undefined ? {} : { [SEGMENT_KEY]: String(segment) }),
    ...(forward === undefined ? {} : { [FORWARD_KEY]: forward }),
  };
}

/** Reads the origin from a node's metadata; undefined for nodes that other programs wrote. */
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
