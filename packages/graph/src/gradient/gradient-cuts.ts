import { isFloat } from "../dtype.js";
import type { Op } from "../graph/attributes.js";
import { type AnyNode, type Graph, producers, type Value } from "../graph/graph.js";
import { customGradientRule, customResults, customRules } from "./rules/custom.js";
import { gradientRules } from "./rules/gradient-rules.js";
import type { GradientRow } from "./rules/rule.js";

/** A node that stops gradients on a path from a parameter to the loss. */
export interface GradientCut {
  readonly op: Op;
  readonly node: string;
  /** Why no gradient flows, such as `its output is an index`. */
  readonly reason: string;
  readonly scope: string;
  readonly line: string | undefined;
}

const STOPPED: GradientRow<Op> = { zero: "stopGradient" };

/** The gradient rule of a node: zero after `stopGradient`, its custom rule, or the rule of its op. */
export function gradientRow(node: AnyNode): GradientRow<Op> {
  const { stopsGradient, custom } = node.origin;
  if (stopsGradient === true) return STOPPED;
  return custom === undefined ? (gradientRules[node.op] as GradientRow<Op>) : customGradientRule(custom);
}

/**
 * Values that depend on `wrt` along a path of floats and of ops whose gradient is not zero. A function with a custom
 * gradient passes the dependence from its inputs to its results.
 */
export function activeValues(graph: Graph, wrt: Iterable<Value>): ReadonlySet<Value> {
  const active = new Set(wrt);
  for (const node of graph.nodes) {
    const { custom } = node.origin;
    if (custom !== undefined) {
      const { results, inputs, closedOver } = custom;
      const isReached = node.inputs
        .slice(results, results + inputs + closedOver)
        .some((input) => active.has(input));
      for (const result of customResults(node)) {
        if (!isReached) active.delete(result);
        else if (isFloat(result.dtype)) active.add(result);
      }
      continue;
    }
    if ("zero" in gradientRow(node) || !node.inputs.some((input) => active.has(input))) continue;
    for (const output of node.outputs) if (isFloat(output.dtype)) active.add(output);
  }
  return active;
}

/** Values that the gradient of `loss` reaches. It does not pass an operator whose gradient is zero. */
export function reachedValues(graph: Graph, loss: Value | undefined): ReadonlySet<Value> {
  const reached = new Set(loss && [loss]);
  for (const node of graph.nodes.toReversed()) {
    const { custom } = node.origin;
    const results = customResults(node);
    if (!results.some((result) => reached.has(result)) || "zero" in gradientRow(node)) continue;
    // A custom rule passes the gradient by the function, to its inputs.
    if (custom !== undefined) for (const result of results) reached.delete(result);
    const inputs = custom ? node.inputs.slice(custom.results, custom.results + custom.inputs) : node.inputs;
    for (const input of inputs) if (isFloat(input.dtype)) reached.add(input);
  }
  return reached;
}

/** The nodes between `wrt` and the loss that stop gradients. */
export function gradientCuts(graph: Graph, loss: Value, wrt: Iterable<Value>): readonly GradientCut[] {
  const active = activeValues(graph, wrt);
  const needed = findAncestors(graph, loss);
  const rules = customRules(graph.nodes);
  return graph.nodes.flatMap((node) => {
    if (!node.inputs.some((input) => active.has(input))) return [];
    const read = node.outputs.filter((output) => needed.has(output));
    const [first] = read;
    if (first === undefined || read.some((output) => active.has(output))) return [];
    const row = gradientRow(node);
    const stopped = rules.has(first) ? "its rule has no cotangent for it" : `its output is ${first.dtype}`;
    const reason = "zero" in row ? row.zero : stopped;
    return [{ op: node.op, node: node.name, reason, scope: node.origin.scope, line: node.origin.line }];
  });
}

/** The value itself and all values that it is computed from. */
function findAncestors(graph: Graph, value: Value): ReadonlySet<Value> {
  const producer = producers(graph);
  const found = new Set([value]);
  // Iterating over a set also visits elements that are added meanwhile.
  for (const next of found) for (const input of producer.get(next)?.inputs ?? []) found.add(input);
  return found;
}
