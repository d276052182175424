/** Problems of a policy that are visible in the graph, before anything is computed. */

import {
  type AnyNode,
  type ComputeDType,
  consumers,
  floatFormats,
  type Graph,
  isComputeFloat,
  isNode,
  producers,
  type Value,
} from "@mp/graph";
import { deepNodes, isWithin, meantInstead } from "@mp/graph/internal";
import { findActivatedTwice } from "./activated-twice.js";
import { beyondRange, constantLoss, vanishes } from "./constants.js";
import { type CastOptions, type CastPlan, planCasts } from "./plan.js";
import type { CastingPolicy, CastingPolicyChanges } from "./policy.js";
import { findStoredInHalf, padding } from "./sites.js";

/**
 * - `constant-overflows`: a finite constant is infinite in the half dtype (a mask of -1e9 in f16). The only error.
 * - `constant-vanishes`: a nonzero number becomes zero in the half dtype (an epsilon of 1e-8 in f16).
 * - `cast-undone`: every reader takes the result of the user's cast in another dtype.
 * - `half-loss`: a scalar result in f16, where a loss scale above 32768 overflows the first gradient.
 * - `scope-unmatched`: no operator is in a scope that the policy or recipe names; the name may be misspelled.
 * - `crossed-broadcast`: a column [n, 1] and a row [n] broadcast to [n, n], usually a prediction and a target.
 * - `activated-twice`: a loss of logits gets the result of a softmax or a sigmoid, which it applies itself.
 * - `recipe-unused`: a recipe quantizes none of the graph's products.
 */
export type CastLintRule =
  | "constant-overflows"
  | "constant-vanishes"
  | "cast-undone"
  | "half-loss"
  | "scope-unmatched"
  | "crossed-broadcast"
  | "activated-twice"
  | "recipe-unused";

export interface CastLint {
  readonly rule: CastLintRule;
  readonly severity: "error" | "warning";
  /** The node or output that has the problem, or `policy`. */
  readonly node: string;
  readonly scope: string;
  readonly line?: string;
  /** The problem, naming node and line. */
  readonly message: string;
  readonly remedy: string;
  /** Changes for the policy's `with` that keep the number in f32; only for a constant that overflows or vanishes. */
  readonly changes?: CastingPolicyChanges;
}

/** Lints a graph under a policy. @throws MP_UNSUPPORTED as `autocastGraph` */
export function lintCasts(
  graph: Graph,
  policy: CastingPolicy,
  options: CastOptions = {},
): readonly CastLint[] {
  return lintPlan(planCasts(graph, policy, options));
}

export function lintPlan(plan: CastPlan): readonly CastLint[] {
  return [...lintNodes(plan), ...halfLosses(plan, producers(plan.graph)), ...lintScopes(plan)];
}

/** Lints nodes one by one. In the body of a scan, only these lints apply. */
export function lintNodes(plan: CastPlan): readonly CastLint[] {
  const made = producers(plan.graph);
  const readers = consumers(plan.graph);
  return [
    ...plan.graph.nodes.flatMap((node) => [
      ...constantLints(plan, node, made),
      ...lintNarrowing(plan, node, readers),
      ...attributeLints(plan, node),
      ...lintBroadcasts(node),
    ]),
    ...undoneCasts(plan),
    ...findActivatedTwice(plan.graph).map(activation),
  ];
}

function constantLints(
  plan: CastPlan,
  node: AnyNode,
  made: ReadonlyMap<Value, AnyNode>,
): readonly CastLint[] {
  return [...new Set(node.inputs)].flatMap((value) => {
    const dtype = plan.takes(node, value);
    const producer = made.get(value);
    if (dtype === undefined || dtype === value.dtype || !producer || !isNode(producer, "Constant")) return [];
    const { overflow, underflow } = constantLoss(producer.attributes, dtype);
    if (overflow !== undefined) return [overflows(node, overflow, dtype)];
    return underflow === undefined ? [] : [vanishing(node, underflow, dtype)];
  });
}

/** Lints results that are f32 because of a constant beyond the half dtype's range, but are read in the half dtype. */
function lintNarrowing(
  plan: CastPlan,
  node: AnyNode,
  readers: ReadonlyMap<Value, readonly AnyNode[]>,
): readonly CastLint[] {
  const { rule, because = "" } = plan.decisions.get(node) ?? {};
  const { low } = plan;
  if (rule !== "constant beyond the half" || low === undefined) return [];
  return node.outputs.flatMap((value) => {
    const reader = (readers.get(value) ?? []).find((reader) => plan.takes(reader, value) === low);
    if (reader === undefined && plan.outputs.get(value) !== low) return [];
    const what = `${because}, and ${reader?.name ?? "the caller"} reads the result in ${low}`;
    return [describeLint(node, overflow(reader ?? node, what, low))];
  });
}

/** Lints the numbers in a node's attributes, which the kernel converts to the tensor's dtype. */
function attributeLints(plan: CastPlan, node: AnyNode): readonly CastLint[] {
  const dtype = plan.decisions.get(node)?.dtype;
  if (dtype === undefined || dtype === "f32") return [];
  const padded = padding(node, dtype);
  if (padded !== undefined) return [overflows(node, padded, dtype)];
  if (node.op !== "Clip") return [];
  const bounds = [node.attributes.min, node.attributes.max].filter((bound) => bound !== undefined);
  return bounds.filter((bound) => vanishes(bound, dtype)).map((bound) => vanishing(node, bound, dtype));
}

/** Lints differences and products only: comparisons that broadcast this way usually make masks. */
function lintBroadcasts(node: AnyNode): readonly CastLint[] {
  if (node.op !== "Sub" && node.op !== "Mul") return [];
  const [a, b] = node.inputs;
  if (a === undefined || b === undefined || !isComputeFloat(a.dtype)) return [];
  const [column, row] = a.shape.length === 2 ? [a.shape, b.shape] : [b.shape, a.shape];
  const [n] = row;
  if (n === undefined || n === 1 || row.length !== 1 || column.join() !== `${n},1`) return [];
  const finding: Finding = {
    rule: "crossed-broadcast",
    what: `[${a.shape.join(", ")}] with [${b.shape.join(", ")}] makes [${n}, ${n}]`,
    remedy: `reshape one of them to the other's shape; where all pairs are meant, say so: unsqueeze(row, [0])`,
  };
  return [describeLint(node, finding)];
}

const activation = (node: AnyNode): CastLint =>
  describeLint(node, {
    rule: "activated-twice",
    what: `the loss applies a ${node.op} itself, and its logits have had one`,
    remedy: `pass it the scores before the ${node.op}`,
  });

const overflows = (node: AnyNode, number: number, dtype: ComputeDType): CastLint =>
  describeLint(node, overflow(node, beyondRange(number, dtype), dtype));

/** @param wide the node to keep in f32 instead */
function overflow(wide: AnyNode, what: string, dtype: ComputeDType): Finding {
  const mask = dtype === "f16" ? "a mask in f16 is -3e4" : "a mask is -1e9";
  const { remedy, changes } = keepInF32(wide);
  const smaller = what.startsWith("-") ? mask : "make it smaller";
  return { rule: "constant-overflows", severity: "error", what, remedy: `${smaller}; or ${remedy}`, changes };
}

function vanishing(node: AnyNode, number: number, dtype: ComputeDType): CastLint {
  const { remedy, changes } = keepInF32(node);
  const smallest = `the smallest normal number of ${dtype} is ${floatFormats[dtype].minNormal.toExponential(2)}`;
  return describeLint(node, {
    rule: "constant-vanishes",
    what: `${number} is 0 in ${dtype}`,
    remedy: `${smallest}; or ${remedy}`,
    changes,
  });
}

function keepInF32({ op, origin: { scope } }: AnyNode) {
  const ops = { [op]: "f32" } as const;
  const changes = scope === "" ? { ops } : { scopes: { [scope]: ops } };
  const text = scope === "" ? `{ ops: { ${op}: "f32" } }` : `{ scopes: { "${scope}": { ${op}: "f32" } } }`;
  return { remedy: `keep it in f32 with policy.with(${text})`, changes };
}

interface Finding extends Pick<CastLint, "rule" | "remedy" | "changes"> {
  readonly what: string;
  /** Default `warning`. */
  readonly severity?: CastLint["severity"];
}

function describeLint({ name, origin }: AnyNode, finding: Finding): CastLint {
  const { what, severity = "warning", ...rest } = finding;
  const { scope, line } = origin;
  const at = line === undefined ? "" : ` (at ${line})`;
  const location = line === undefined ? { scope } : { scope, line };
  return { ...rest, severity, node: name, ...location, message: `${name}: ${what}${at}` };
}

function undoneCasts(plan: CastPlan): readonly CastLint[] {
  const readers = consumers(plan.graph);
  const returned = new Set(plan.graph.outputs.map(({ value }) => value));
  const implicit = findStoredInHalf(plan.graph);
  return plan.graph.nodes.flatMap((node) => {
    const [value] = node.outputs;
    const isUsers = node.op === "Cast" && node.origin.castSettled === undefined && !implicit.has(node);
    if (!isUsers || value === undefined || !isComputeFloat(value.dtype) || returned.has(value)) return [];
    // A cast from an index or bool to a float is not about precision and cannot be omitted.
    if (!node.inputs.every((input) => isComputeFloat(input.dtype))) return [];
    const taken = (readers.get(value) ?? []).flatMap((reader) => {
      const dtype = plan.takes(reader, value);
      return dtype === undefined ? [] : [{ reader, dtype }];
    });
    const [first] = taken;
    if (first === undefined || taken.some(({ dtype }) => dtype === value.dtype)) return [];
    const { reader, dtype } = first;
    const finding: Finding = {
      rule: "cast-undone",
      what: `the cast to ${value.dtype} is undone, ${reader.name} takes ${dtype}`,
      remedy: `remove the cast, or override ${reader.op}${reader.origin.scope === "" ? "" : ` in ${reader.origin.scope}`}`,
    };
    return [describeLint(node, finding)];
  });
}

function halfLosses({ graph, outputs }: CastPlan, made: ReadonlyMap<Value, AnyNode>): readonly CastLint[] {
  return graph.outputs
    .filter(({ value }) => value.shape.length === 0 && (outputs.get(value) ?? value.dtype) === "f16")
    .map(({ name, value }) => {
      const { scope = "", line } = made.get(value)?.origin ?? {};
      return {
        rule: "half-loss",
        severity: "warning",
        node: name,
        ...(line === undefined ? { scope } : { scope, line }),
        message: `output ${name}: a loss in f16 takes scales up to 32768, and its gradient starts at the scale`,
        remedy: 'return it in f32: output=f32, or cast(loss, "f32")',
      };
    });
}

/** Number of scopes that a remedy lists; more would hide the scope that the user meant. */
const MOST_SCOPES = 8;

function lintScopes({ graph, policy, low, options: { recipe } }: CastPlan): readonly CastLint[] {
  const named = new Set([
    ...(low === undefined ? [] : policy.overrides.map(({ scope }) => scope)),
    ...Object.keys(recipe?.scopes ?? {}),
  ]);
  if (named.size === 0) return [];
  const there = [...new Set([...deepNodes(graph)].map(({ origin }) => origin.scope))].filter(
    (scope) => scope !== "",
  );
  return [...named]
    .filter((scope) => scope !== "" && !there.some((other) => isWithin(other, scope)))
    .map((scope) => {
      const more = there.length > MOST_SCOPES ? ` and ${there.length - MOST_SCOPES} more` : "";
      const all = `the scopes are ${there.slice(0, MOST_SCOPES).join(", ")}${more}`;
      return {
        rule: "scope-unmatched",
        severity: "warning",
        node: "policy",
        scope,
        message: `policy: no operator lies in scope "${scope}"`,
        remedy:
          there.length === 0
            ? "there are no scopes; name them with scope(...)"
            : [meantInstead(scope, there), all].filter((part) => part !== undefined).join(" "),
      };
    });
}
