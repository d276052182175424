/**
 * A casting plan as data: the dtype that each node computes in and why, the casts that this takes, and lint warnings.
 */

import { type AnyNode, consumers, type DType, type Graph, type Op, type Value } from "@mp/graph";
import { stableHash } from "@mp/graph/internal";
import { applyCasts, type InsertedCast } from "./autocast-graph.js";
import { type CastLint, lintNodes, lintPlan } from "./lint.js";
import { type CastOptions, type CastPlan, planCasts } from "./plan.js";
import type { CastingPolicy } from "./policy.js";
import type { CastRule } from "./rule.js";

export interface CastExplanation {
  readonly node: string;
  readonly op: Op;
  readonly scope: string;
  /** The scope as reports show it, if that differs from `scope`. */
  readonly label?: string;
  readonly line?: string;
  /** The dtype that the node computes in; without floating operands, the dtype of its result. */
  readonly dtype: DType;
  readonly rule: CastRule;
  /** The reason that the node, the scope or the backend gives for the rule, if any. */
  readonly because?: string;
}

export interface CastReport {
  readonly policy: string;
  /** Hash of policy, decisions and casts, without source lines and labels; equal in all runs and on all machines. */
  readonly hash: string;
  /** One entry for each node, in the graph's order and under the graph's names. */
  readonly nodes: readonly CastExplanation[];
  readonly casts: readonly InsertedCast[];
  readonly lints: readonly CastLint[];
}

/**
 * Explains what `autocastGraph` would do, including constants that would be an error. @throws MP_UNSUPPORTED as
 * `autocastGraph`
 */
export function explainCasts(graph: Graph, policy: CastingPolicy, options: CastOptions = {}): CastReport {
  const plan = planCasts(graph, policy, options);
  const { casts, bodies } = applyCasts(plan);
  const nodes = explanations(plan, bodies, "");
  const text = String(policy);
  const facts = nodes.map(({ line: _line, label: _label, ...rest }) => rest);
  return {
    policy: text,
    hash: stableHash(JSON.stringify([text, facts, casts])),
    nodes,
    casts,
    lints: [...lintPlan(plan), ...[...bodies.values()].flatMap(lintNodes)],
  };
}

/** Explanations in the graph's order. Nodes of a scan's body follow it, under names that begin with the scan's. */
function explanations(
  plan: CastPlan,
  bodies: ReadonlyMap<AnyNode, CastPlan>,
  within: string,
): readonly CastExplanation[] {
  const readers = consumers(plan.graph);
  return plan.graph.nodes.flatMap((node): readonly CastExplanation[] => {
    const { op, origin } = node;
    if (origin.custom !== undefined) return [];
    const name = `${within}${node.name}`;
    const decision = plan.decisions.get(node);
    if (decision === undefined) throw new Error(`internal: no decision on ${name}`);
    const { dtype = outputDType(plan, node, readers), rule, because } = decision;
    const body = bodies.get(node);
    return [
      {
        node: name,
        op,
        scope: origin.scope,
        ...(origin.label === undefined ? {} : { label: origin.label }),
        ...(origin.line === undefined ? {} : { line: origin.line }),
        dtype,
        rule,
        ...(because === undefined ? {} : { because }),
      },
      ...(body === undefined ? [] : explanations(body, bodies, `${name}/`)),
    ];
  });
}

/** A constant gets the dtype of its readers; every other node keeps the dtype it was written with. */
function outputDType(plan: CastPlan, node: AnyNode, readers: ReadonlyMap<Value, readonly AnyNode[]>): DType {
  const [value] = node.outputs;
  if (value === undefined) return "f32";
  const [reader] = node.op === "Constant" ? (readers.get(value) ?? []) : [];
  return (reader && plan.takes(reader, value)) ?? value.dtype;
}

/** The report as a human-readable table. */
export function formatCastReport(report: CastReport): string {
  const { policy, hash, nodes, casts, lints } = report;
  const width = Math.max(0, ...nodes.map(({ node }) => node.length));
  const rows = nodes.map(({ node, dtype, rule, because, line }) => {
    const reason = because === undefined ? rule : `${rule}: ${because}`;
    return `${dtype.padEnd(6)} ${node.padEnd(width)}  ${reason}${line === undefined ? "" : `  (${line})`}`;
  });
  const castRows = casts.map(({ value, from, to, before }) => `${value}: ${from} to ${to}, before ${before}`);
  const lintRows = lints.map(({ severity, message, remedy }) => `${severity}: ${message}; ${remedy}`);
  const count = (found: number, what: string): string => `${found} ${what}${found === 1 ? "" : "s"}`;
  return [
    `${policy}  ${hash}`,
    ...rows,
    count(casts.length, "cast"),
    ...castRows.map((row) => `  ${row}`),
    ...lintRows,
    "",
  ].join("\n");
}

export interface CastDifference {
  readonly node: string;
  /** Undefined if only the other report has the node. */
  readonly before: CastExplanation | undefined;
  readonly after: CastExplanation | undefined;
}

/** The nodes whose dtype differs or that only one report has. */
export function diffCastReports(before: CastReport, after: CastReport): readonly CastDifference[] {
  const old = new Map(before.nodes.map((node) => [node.node, node]));
  const now = new Map(after.nodes.map((node) => [node.node, node]));
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((node) => ({ node, before: old.get(node), after: now.get(node) }))
    .filter((pair) => pair.before?.dtype !== pair.after?.dtype);
}
