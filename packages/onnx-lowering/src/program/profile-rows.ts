import type { ProfileRow } from "@mp/graph";

/** Sums times by graph node; the most expensive node comes first. */
export function profileRows(events: readonly Omit<ProfileRow, "calls">[]): readonly ProfileRow[] {
  const rows = new Map<string, ProfileRow>();
  for (const { node, op, microseconds } of events) {
    const sum = rows.get(node);
    rows.set(node, {
      node,
      op,
      microseconds: (sum?.microseconds ?? 0) + microseconds,
      calls: (sum?.calls ?? 0) + 1,
    });
  }
  return [...rows.values()].sort((a, b) => b.microseconds - a.microseconds);
}
