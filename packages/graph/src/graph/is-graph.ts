import type { Graph } from "./attributes.js";

/** Whether the value of an attribute is a graph: the body of a loop. */
export function isGraph(value: unknown): value is Graph {
  return typeof value === "object" && value !== null && "nodes" in value;
}
