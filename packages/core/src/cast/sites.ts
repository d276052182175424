/** Facts about a graph that the casting passes collect before they decide anything. */

import {
  type AnyNode,
  type BackendManifest,
  type CastCategory,
  type ComputeDType,
  elementCount,
  type Graph,
  type HalfDType,
  inferTypes,
  isComputeFloat,
  isHalf,
  isNode,
  type Op,
  type Origin,
  opTable,
  roundTo,
  type Value,
} from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import { accumulatorOf, leadingInputs } from "@mp/graph/internal";
import type { CastRule } from "./cast-decision.js";
import { beyondRange, constantLoss } from "./constants.js";
import { type CastingPolicy, isPure, overrideFor } from "./policy.js";

/** A node as the casting passes see it: with its category and its floating operands. */
export interface CastSite {
  readonly node: AnyNode;
  readonly category: CastCategory;
  /** The rule that gave the node its category. */
  readonly rule: CastRule;
  readonly because?: string;
  /** Floating operands that are all cast to the node's dtype. */
  readonly floats: readonly Value[];
  /** Outputs in the dtype that the node computes in, so not the f32 statistics of a normalization. */
  readonly carried: ReadonlySet<Value>;
}

export interface CastView {
  readonly sites: readonly CastSite[];
  readonly producer: ReadonlyMap<Value, CastSite>;
  readonly readers: ReadonlyMap<Value, readonly CastSite[]>;
  /** Parameters, scalars, and values computed from them alone, which take the dtype of the other operand. */
  readonly weak: ReadonlySet<Value>;
  /** Graph outputs that are cast, with their new dtype. */
  readonly outputs: ReadonlyMap<Value, ComputeDType>;
  /** Graph inputs that arrive in another dtype than they were traced in. */
  readonly entering: ReadonlyMap<Value, ComputeDType>;
  readonly inputNames: ReadonlyMap<Value, string>;
}

/** @param wide the nodes that compute in f32, each with the number outside the half dtype's range that it reads */
export function viewForCasting(
  graph: Graph,
  policy: CastingPolicy,
  low: HalfDType,
  manifest: BackendManifest | undefined,
  boundary: Pick<CastView, "outputs" | "entering">,
  wide: ReadonlyMap<AnyNode, number>,
): CastView {
  const constants = new Map<Value, AnyNode>();
  for (const node of graph.nodes) {
    if (node.op === "Constant") for (const output of node.outputs) constants.set(output, node);
  }
  const drawn = drawnValues(graph, low);
  const sites = graph.nodes.map((node): CastSite => {
    const floats = leadingInputs(node).filter((value) => isComputeFloat(value.dtype));
    const number = wide.get(node);
    const ruling: Ruling =
      number === undefined
        ? rulingOn(node, floats, policy, low, manifest, constants, drawn)
        : { category: "f32", rule: "constant beyond the half", because: beyondRange(number, low) };
    return { node, floats, carried: carryOutputs(node, floats, ruling.category, low), ...ruling };
  });
  const producer = new Map<Value, CastSite>();
  const readers = new Map<Value, CastSite[]>();
  for (const site of sites) {
    for (const output of site.node.outputs) producer.set(output, site);
    if (site.node.origin.custom !== undefined) continue;
    for (const input of new Set(site.node.inputs)) {
      const list = readers.get(input);
      if (list === undefined) readers.set(input, [site]);
      else list.push(site);
    }
  }
  const inputNames = new Map(graph.inputs.map(({ name, value }) => [value, name]));
  return { sites, producer, readers, weak: weakValues(graph, sites), ...boundary, inputNames };
}

/**
 * Finds random numbers, also after data movement. Operators that read them follow the op lists, even under a pure
 * policy or an override to the half dtype: comparing or computing in a half dtype would change what was drawn.
 */
function drawnValues(graph: Graph, low: HalfDType): ReadonlySet<Value> {
  const drawn = new Set<Value>();
  for (const { op, origin, inputs, outputs } of graph.nodes) {
    const moves = opTable[op].cast[low] === "clear" && inputs.some((value) => drawn.has(value));
    if (moves || origin.castSettled === "draw") for (const value of outputs) drawn.add(value);
  }
  return drawn;
}

/**
 * The floating graph outputs that are cast, with their new dtype. Outputs of the user's own casts, random numbers and
 * inputs keep their dtype.
 */
export function outputsToCast(graph: Graph, output: ComputeDType): ReadonlyMap<Value, ComputeDType> {
  const computed = new Set<Value>();
  for (const node of graph.nodes)
    if (node.op !== "Cast" && node.origin.castSettled !== "draw")
      for (const value of node.outputs) computed.add(value);
  const cast = graph.outputs.filter(({ value }) => computed.has(value) && isComputeFloat(value.dtype));
  return new Map(cast.map(({ value }) => [value, output]));
}

function carryOutputs(
  node: AnyNode,
  floats: readonly Value[],
  category: CastCategory,
  low: HalfDType,
): ReadonlySet<Value> {
  if (category === "fixed") return new Set();
  const lowered = node.inputs.map((value) =>
    floats.includes(value) ? { dtype: low, shape: value.shape } : value,
  );
  const types = inferTypes<Op>(node.op, lowered, node.attributes);
  return new Set(node.outputs.filter((_, index) => types[index]?.dtype === low));
}

type Ruling = Pick<CastSite, "category" | "rule" | "because">;

function rulingOn(
  node: AnyNode,
  floats: readonly Value[],
  policy: CastingPolicy,
  low: HalfDType,
  manifest: BackendManifest | undefined,
  constants: ReadonlyMap<Value, AnyNode>,
  drawn: ReadonlySet<Value>,
): Ruling {
  const { op, origin } = node;
  const listed = opTable[op].cast[low];
  if (origin.castSettled !== undefined) return { category: "fixed", rule: SETTLED_RULE[origin.castSettled] };
  if (op === "Cast") return { category: "fixed", rule: "user cast" };
  if (op === "Constant" && isComputeFloat(node.outputs[0]?.dtype ?? "bool")) {
    return { category: "fixed", rule: "constant" };
  }
  if (listed === "fixed") return { category: "fixed", rule: "as written" };
  if (floats.length === 0) return { category: "fixed", rule: "not floating" };
  const reason = manifest === undefined ? undefined : missingKernel(manifest, op, low);
  if (reason !== undefined) return { category: "f32", rule: "no kernel", because: reason };
  const override = overrideFor(policy, op, origin.scope);
  const readsDraw = floats.some((value) => drawn.has(value));
  if (override !== undefined && (!readsDraw || override.category === "f32" || override.category === "deny")) {
    const because = override.scope === "" ? op : override.scope;
    return { category: override.category, rule: "override", because };
  }
  if (isPure(policy) && !readsDraw) return { category: "low", rule: "pure policy" };
  const ruling = structural(node, low, constants) ?? kernelCategory(op, listed, low, manifest);
  return { ...ruling, rule: LIST_RULE[ruling.category] };
}

const SETTLED_RULE: Readonly<Record<NonNullable<Origin["castSettled"]>, CastRule>> = {
  policy: "inner policy",
  recipe: "inner policy",
  draw: "random draw",
};

const LIST_RULE: Readonly<Record<CastCategory, CastRule>> = {
  low: "allow list",
  f32: "f32 list",
  deny: "deny list",
  infer: "no low-precision producer",
  between: "not between low-precision ops",
  widest: "widest operand",
  clear: "widest operand",
  fixed: "as written",
};

/** The reason why the backend does not compute an op in this half dtype: the manifest's, or a missing kernel. */
function missingKernel(manifest: BackendManifest, op: Op, low: HalfDType): string | undefined {
  const support = manifest.ops[op];
  const reason = unsupportedReason(support);
  if (reason !== undefined) return reason;
  return (support as readonly string[]).includes(low) ? undefined : `no ${low} kernel for ${op}`;
}

/** Categories that leave the dtype to the operator's neighbors. */
const byNeighbors: ReadonlySet<CastCategory> = new Set<CastCategory>(["infer", "between", "widest", "clear"]);

/** Whether a site takes the dtype of its neighbors, without an override by the user. */
export const followsNeighbors = ({ category, rule }: CastSite): boolean =>
  byNeighbors.has(category) && rule !== "override";

/**
 * Finite numbers that the half dtype cannot hold, by the node that reads them: from attributes, or from constants,
 * directly or through data movement.
 */
export function numbersBeyond(graph: Graph, low: HalfDType): ReadonlyMap<AnyNode, number> {
  const held = new Map<Value, number>();
  const read = new Map<AnyNode, number>();
  for (const node of graph.nodes) {
    const constant = isNode(node, "Constant") ? constantLoss(node.attributes, low).overflow : undefined;
    const operand = padding(node, low) ?? node.inputs.map((value) => held.get(value)).find(isNumber);
    if (operand !== undefined) read.set(node, operand);
    const number = constant ?? (opTable[node.op].cast[low] === "clear" ? operand : undefined);
    if (number !== undefined) for (const value of node.outputs) held.set(value, number);
  }
  return read;
}

/** The number that a `Pad` node pads with, if the dtype cannot hold it as a finite number. */
export function padding(node: AnyNode, dtype: ComputeDType): number | undefined {
  if (!isNode(node, "Pad") || node.attributes.mode !== "constant") return undefined;
  const { value } = node.attributes;
  return Number.isFinite(value) && !Number.isFinite(roundTo(dtype, value)) ? value : undefined;
}

const isNumber = (value: number | undefined): value is number => value !== undefined;

/** The category of two cases that need more than the op's name: x · x is a power; a tiny divisor can overflow f16. */
function structural(
  node: AnyNode,
  low: HalfDType,
  constants: ReadonlyMap<Value, AnyNode>,
): Pick<CastSite, "category" | "because"> | undefined {
  const [x, y] = node.inputs;
  if (node.op === "Mul" && x === y) return { category: opTable.Pow.cast[low], because: "a square" };
  if (node.op !== "Div" || y === undefined || low !== "f16") return undefined;
  const divisor = constants.get(y);
  if (divisor === undefined || !isNode(divisor, "Constant")) return undefined;
  const { literal } = divisor.attributes;
  if (literal === undefined || Math.abs(literal) >= 2 ** -14) return undefined;
  return { category: "f32", because: `the divisor ${literal} is below 2^-14` };
}

/**
 * The category of an op whose only numerical risk is its sum: `between` where the backend's kernel for that half dtype
 * accumulates in f32, `f32` where it does not. Without a manifest, the table of ops applies.
 */
function kernelCategory(
  op: Op,
  listed: CastCategory,
  low: HalfDType,
  manifest: BackendManifest | undefined,
): Pick<CastSite, "category" | "because"> {
  if (manifest === undefined || opTable[op].cast.bf16 !== "between") return { category: listed };
  const inside = accumulatorOf(manifest, op, low);
  return { category: inside === "f32" ? "between" : "f32", because: `the kernel sums in ${inside}` };
}

function weakValues(graph: Graph, sites: readonly CastSite[]): ReadonlySet<Value> {
  const weak = new Set<Value>();
  const stored = findStoredInHalf(graph);
  for (const { role, value } of graph.inputs) if (role === "parameter") weak.add(value);
  for (const { node, category } of sites) {
    const isWeak =
      node.op === "Constant"
        ? node.outputs.every((output) => elementCount(output.shape, node.name) === 1)
        : stored.has(node) ||
          ((category === "clear" || category === "widest") && node.inputs.every((input) => weak.has(input)));
    if (isWeak) for (const output of node.outputs) weak.add(output);
  }
  return weak;
}

/**
 * Finds the casts to f32 through which parameters kept in a half dtype enter a computation traced in f32. Unlike other
 * casts, they do not say which dtype to compute in.
 */
export function findStoredInHalf(graph: Graph): ReadonlySet<AnyNode> {
  const halves = new Set<Value>();
  for (const { role, value } of graph.inputs) {
    if (role === "parameter" && isHalf(value.dtype)) halves.add(value);
  }
  return new Set(
    graph.nodes.filter(
      (node) =>
        node.op === "Cast" && node.attributes.to === "f32" && node.inputs.some((input) => halves.has(input)),
    ),
  );
}
