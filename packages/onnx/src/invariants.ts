import type { InputRole } from "@mp/graph";
import { INVARIANTS_KEY } from "./metadata-keys.js";
import type { OnnxNode } from "./model.js";

/** A value that a body reads from the surrounding graph: its name there; name and role of the body's input. */
export type Invariant = readonly [outer: string, name: string, role: InputRole];

const ROLES: readonly InputRole[] = ["parameter", "state", "batch", "capture"];

export const parseRole = (text: unknown): InputRole | undefined => ROLES.find((known) => known === text);

export function invariantsToMetadata(invariants: readonly Invariant[]): Readonly<Record<string, string>> {
  return invariants.length === 0 ? {} : { [INVARIANTS_KEY]: JSON.stringify(invariants) };
}

/** Reads invariants from a node's metadata; none if it is damaged or another program wrote the node. */
export function invariantsFromMetadata({ metadata }: OnnxNode): readonly Invariant[] {
  let list: unknown;
  try {
    list = JSON.parse(metadata[INVARIANTS_KEY] ?? "[]");
  } catch {
    return [];
  }
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown): readonly Invariant[] => {
    const [outer, name, given] = Array.isArray(entry) ? entry : [];
    const role = parseRole(given);
    return typeof outer === "string" && typeof name === "string" && role !== undefined
      ? [[outer, name, role]]
      : [];
  });
}
