import { type CastingPolicy, lowDType } from "../casting-policy.js";
import { type ComputeDType, type HalfDType, isComputeFloat } from "../dtype.js";
import { MpError } from "../errors.js";
import { leadingOperands } from "../graph/cast-category.js";
import type { AnyNode, Graph, Value } from "../graph/graph.js";
import { type BackendManifest, unsupportedReason } from "../manifest.js";
import { paintCasts } from "./cast-passes.js";
import { outputsToCast, viewForCasting } from "./cast-sites.js";

/** Why a node computes in the dtype it does. */
export type CastRule =
  | "allow list"
  | "f32 list"
  | "deny list"
  | "reached from a deny node"
  | "between low nodes"
  | "behind a low node"
  | "no low node in front"
  | "not between low nodes"
  | "widest of its operands"
  | "every reader is low"
  | "parameters and scalars only"
  | "override"
  | "pure policy"
  | "no kernel"
  | "user cast"
  | "constant"
  | "inner policy"
  | "as written"
  | "not floating";

export interface CastDecision {
  /** What the node's floating operands are brought to; undefined where they stay as the graph was written. */
  readonly dtype: ComputeDType | undefined;
  readonly rule: CastRule;
  /** The node, scope or backend's reason behind the rule, where there is one. */
  readonly because?: string;
}

/** A policy applied to a graph, before anything is rewritten. */
export interface CastPlan {
  readonly graph: Graph;
  readonly policy: CastingPolicy;
  /** Undefined where the policy casts nothing but outputs. */
  readonly low: HalfDType | undefined;
  readonly decisions: ReadonlyMap<AnyNode, CastDecision>;
  /** Results that are cast, with what they are cast to; the others stay as they are. */
  readonly outputs: ReadonlyMap<Value, ComputeDType>;
  /** The dtype in which a node takes a value; undefined where any will do. */
  takes(node: AnyNode, value: Value): ComputeDType | undefined;
}

export interface CastOptions {
  /** What the engine can compute; left out, every op has a kernel in every dtype. */
  readonly manifest?: BackendManifest | undefined;
}

/**
 * Decides where each node computes. With a policy that casts nothing every node stays as written.
 * @throws MP_UNSUPPORTED when the backend has nothing of the policy's half, not even emulated
 */
export function planCasts(graph: Graph, policy: CastingPolicy, options: CastOptions = {}): CastPlan {
  const low = lowDType(policy);
  const { manifest } = options;
  if (manifest !== undefined) expectHalf(policy, manifest);
  const decisions =
    low === undefined
      ? new Map(graph.nodes.map((node) => [node, asWritten(node)]))
      : paintCasts(viewForCasting(graph, policy, low, manifest), low);
  return {
    graph,
    policy,
    low,
    decisions,
    outputs: outputsToCast(graph, policy.output),
    takes: (node, value) => {
      // A cast takes a value in whatever dtype it is made; a barrier's further operands only order.
      if (!isComputeFloat(value.dtype) || node.op === "Cast") return undefined;
      const leads = node.inputs.slice(0, leadingOperands[node.op]).includes(value);
      if (node.op === "Barrier" && !leads) return undefined;
      const dtype = decisions.get(node)?.dtype;
      return dtype === undefined ? value.dtype : leads ? dtype : "f32";
    },
  };
}

function asWritten(node: AnyNode): CastDecision {
  return { dtype: undefined, rule: node.op === "Cast" ? "user cast" : "as written" };
}

/** @throws MP_UNSUPPORTED when the backend has nothing of the policy's half, not even emulated */
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
