import { type ComputeDType, type HalfDType, isComputeFloat } from "../dtype.js";
import { MpError } from "../errors.js";
import type { AnyNode, Graph, Value } from "../graph/graph.js";
import { type BackendManifest, unsupportedReason } from "../manifest.js";
import { leadingOperands } from "./category.js";
import { paintCasts } from "./passes.js";
import { type CastingPolicy, lowDType } from "./policy.js";
import type { CastDecision } from "./rule.js";
import { outputsToCast, viewForCasting } from "./sites.js";

/** A policy applied to a graph, before anything is rewritten. */
export interface CastPlan {
  readonly graph: Graph;
  readonly policy: CastingPolicy;
  /** Undefined if the policy casts only outputs. */
  readonly low: HalfDType | undefined;
  readonly decisions: ReadonlyMap<AnyNode, CastDecision>;
  /** Results that are cast, with their new dtype; the others stay unchanged. */
  readonly outputs: ReadonlyMap<Value, ComputeDType>;
  /** The dtype in which a node reads a value; undefined if it reads any. */
  takes(node: AnyNode, value: Value): ComputeDType | undefined;
}

export interface CastOptions {
  /** What the engine can compute. By default every op has a kernel in every dtype. */
  readonly manifest?: BackendManifest | undefined;
}

/**
 * Decides the dtype that each node computes in. If the policy casts nothing, every node stays as written.
 * @throws MP_UNSUPPORTED if the backend does not support the policy's half, not even emulated
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
      // A cast reads a value in any dtype; a barrier's further operands only fix an order.
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
