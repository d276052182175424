import { formatType } from "@mp/graph";
import { contentHash } from "@mp/graph/internal";
import { listSettings, printSettings } from "../checkpoint/file/settings.js";
import type { Definitions } from "../definition/definition.js";
import type { Outputs } from "../definition/outputs.js";
import { findSlotGroup } from "../definition/state.js";
import type { Facts } from "./compare-headers.js";

/**
 * Facts that must be equal on all ranks at the start: the settings, and the type and hash of each saved slot for which
 * `isCommon` is true.
 */
export function startFacts(
  definitions: Definitions,
  slots: Outputs,
  isCommon: (slot: string) => boolean = () => true,
): Facts {
  const [{ key, precision }] = definitions;
  const values = Object.entries(slots)
    .filter(([slot]) => findSlotGroup(slot).isSaved && isCommon(slot))
    .map(([slot, value]) => [slot, `${formatType(value)} with hash ${contentHash(value.data)}`] as const);
  return {
    seed: key.path,
    precision: precision.name,
    ...printSettings(listSettings(definitions)),
    ...Object.fromEntries(values),
  };
}
