import {
  type AnyNode,
  type BackendManifest,
  type ComputeDType,
  type Graph,
  type GraphNode,
  type HalfDType,
  isComputeFloat,
  MpError,
  type Value,
} from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import { leadingInputs } from "@mp/graph/internal";
import type { Recipe } from "../quantize/recipe.js";
import type { CastDecision } from "./cast-decision.js";
import { paintCasts } from "./paint-casts.js";
import { type CastingPolicy, isPure, lowDType } from "./policy.js";
import { type CastView, followsNeighbors, numbersBeyond, outputsToCast, viewForCasting } from "./sites.js";

/** The decisions of a policy for a graph, before anything is rewritten. */
export interface CastPlan {
  readonly graph: Graph;
  readonly policy: CastingPolicy;
  readonly options: CastOptions;
  /** The half dtype to lower to; undefined if the policy casts only outputs. */
  readonly low: HalfDType | undefined;
  readonly decisions: ReadonlyMap<AnyNode, CastDecision>;
  /** Graph outputs that are cast, with their new dtype; other outputs keep their dtype. */
  readonly outputs: ReadonlyMap<Value, ComputeDType>;
  /** Inputs of a scan's body that arrive in another dtype than they were traced in. */
  readonly entering: ReadonlyMap<Value, ComputeDType>;
  /** Parameters, scalars, and values computed from them alone, which take the dtype of the other operand. */
  readonly weak: ReadonlySet<Value>;
  /** The dtype in which a node reads a value; undefined if any dtype will do. */
  takes(node: AnyNode, value: Value): ComputeDType | undefined;
}

export interface CastOptions {
  /** The dtypes that the engine can compute in, by op. By default every op has a kernel in every dtype. */
  readonly manifest?: BackendManifest | undefined;
  /** How products are quantized; by default they are not. */
  readonly recipe?: Recipe | undefined;
}

/** The dtypes of the inputs and results of a scan's body. */
export interface CastBoundary {
  readonly entering: ReadonlyMap<Value, ComputeDType>;
  /** The dtypes of the body's floating results, in place of the policy's output dtype. */
  readonly leaving: ReadonlyMap<Value, ComputeDType>;
}

/**
 * Decides the dtype that each node computes in. If the policy casts nothing, every node stays as written.
 * @throws MP_UNSUPPORTED if the backend does not support the policy's half dtype, not even emulated
 */
export function planCasts(
  graph: Graph,
  policy: CastingPolicy,
  options: CastOptions = {},
  boundary?: CastBoundary,
): CastPlan {
  const low = lowDType(policy);
  const { manifest } = options;
  if (manifest !== undefined) expectHalf(policy, manifest);
  const outputs = boundary?.leaving ?? outputsToCast(graph, policy.output);
  const entering = boundary?.entering ?? new Map<Value, ComputeDType>();
  const { view, decisions } =
    low === undefined
      ? { view: undefined, decisions: new Map(graph.nodes.map((node) => [node, asWritten(node)])) }
      : paintSites(graph, low, (wide) =>
          viewForCasting(graph, policy, low, manifest, { outputs, entering }, wide),
        );
  return {
    graph,
    policy,
    options,
    low,
    decisions,
    outputs,
    entering,
    weak: view?.weak ?? new Set(),
    takes: (node, value) => {
      // A cast reads a value in any dtype; a barrier's further operands only fix an order.
      if (!isComputeFloat(value.dtype) || node.op === "Cast") return undefined;
      if (node.op === "Scan" && castsBody(node)) return scanDType(node, value, policy);
      const leads = leadingInputs(node).includes(value);
      if (node.op === "Barrier" && !leads) return undefined;
      const dtype = decisions.get(node)?.dtype;
      return dtype === undefined ? value.dtype : leads ? dtype : "f32";
    },
  };
}

/**
 * Decides all dtypes. An operator that follows its neighbors' dtype and would read a number beyond the half dtype's
 * range, such as -3.4e38 in a mask, gets f32, and all dtypes are decided again.
 */
function paintSites(
  graph: Graph,
  low: HalfDType,
  viewWith: (wide: ReadonlyMap<AnyNode, number>) => CastView,
): { readonly view: CastView; readonly decisions: ReadonlyMap<AnyNode, CastDecision> } {
  const numbers = numbersBeyond(graph, low);
  const wide = new Map<AnyNode, number>();
  for (;;) {
    const view = viewWith(wide);
    const decisions = paintCasts(view, low);
    const before = wide.size;
    for (const site of view.sites) {
      const number = numbers.get(site.node);
      const isRead = number !== undefined && decisions.get(site.node)?.dtype === low;
      if (isRead && followsNeighbors(site)) wide.set(site.node, number);
    }
    if (wide.size === before) return { view, decisions };
  }
}

/** Whether the policy casts the body of this scan; false if an inner policy already has. */
export function castsBody({ origin }: AnyNode): boolean {
  return origin.castSettled === undefined;
}

/** The dtype of a scan's carry, whatever its initial value's: a pure policy's half dtype, else the traced dtype. */
export function carrierDType(value: Value, policy: CastingPolicy): ComputeDType | undefined {
  if (!isComputeFloat(value.dtype)) return undefined;
  return isPure(policy) ? (lowDType(policy) ?? value.dtype) : value.dtype;
}

/** The dtype in which a scan takes a carry; undefined for sequences and invariants, which its body casts. */
function scanDType(node: GraphNode<"Scan">, value: Value, policy: CastingPolicy): ComputeDType | undefined {
  const isCarry = node.inputs.slice(0, node.attributes.carries).includes(value);
  return isCarry ? carrierDType(value, policy) : undefined;
}

function asWritten(node: AnyNode): CastDecision {
  return { dtype: undefined, rule: node.op === "Cast" ? "user cast" : "as written" };
}

/** @throws MP_UNSUPPORTED if the backend does not support the policy's half dtype, not even emulated */
export function expectHalf(policy: CastingPolicy, { dtypes, engine }: BackendManifest): void {
  const low = lowDType(policy);
  if (low === undefined) return;
  const reason = unsupportedReason(dtypes[low]);
  if (reason === undefined) return;
  throw new MpError(
    "MP_UNSUPPORTED",
    `casting policy ${policy}: ${engine.name} has no ${low}, ${reason}; take another policy or backend`,
    { details: { policy: String(policy), dtype: low, reason } },
  );
}
