import { deepNodes } from "./build/with-bodies.js";
import type { Graph } from "./graph.js";

/** The name of a node that draws random numbers, also of one in a loop's body; undefined if there is none. */
export function randomNodeIn(graph: Graph): string | undefined {
  for (const { op, name } of deepNodes(graph)) if (op === "RandomBits") return name;
  return undefined;
}
