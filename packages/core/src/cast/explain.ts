/**
 * A casting plan as data: the dtype that each node computes in and why, the casts that it inserts, and lint warnings.
 */

import { type AnyNode, consumers, type DType, type Graph, isNode, type Op, type Value } from "@mp/graph";
import { stableHash } from "@mp/graph/internal";
import type { ProductDecision, ProductPlan } from "../quantize/plan-products.js";
import type { Recipe } from "../quantize/recipe.js";
import type { OperandRole } from "../quantize/recipe-facts.js";
import type { OperandStatistics } from "../quantize/statistics.js";
import { applyCasts, type InsertedCast } from "./autocast-graph.js";
import type { CastRule } from "./cast-decision.js";
import { type CastLint, lintNodes, lintPlan } from "./lint.js";
import { type CastOptions, type CastPlan, planCasts } from "./plan.js";
import type { CastingPolicy } from "./policy.js";

/** A node of a casting plan: the dtype that it computes in, and why. */
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
  /** Detail that the rule's name lacks: the name of a node, op or scope, or a backend's reason. */
  readonly because?: string;
  /** How a recipe quantizes the product; undefined for other nodes and without a recipe. */
  readonly quantized?: QuantizedProduct;
}

/** A recipe's decision on a product. */
export interface QuantizedProduct {
  /** The product's first two operands and the gradient of its result; empty if the product is not quantized. */
  readonly operands: readonly QuantizedOperand[];
  /** The recipe's name or the scope that chose the product; otherwise why it is not quantized. */
  readonly because: string;
}

export interface QuantizedOperand {
  readonly role: OperandRole;
  /** The rule in words: `f8e4m3 by tensor`. */
  readonly rule: string;
  /** Only in a precision report, which runs a batch. */
  readonly statistics?: OperandStatistics;
}

export interface CastReport {
  readonly policy: string;
  /** Hash of policy, decisions and casts, without source lines and labels; equal in all runs and on all machines. */
  readonly hash: string;
  /** One entry for each node, in graph order and with the node's name in the graph. */
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
  const { recipe } = options;
  const products = recipe?.pass.planProducts(graph, recipe);
  const nodes = explanations({ plan, bodies, products }, "");
  const text = String(policy);
  const facts = nodes.map(({ line: _line, label: _label, ...rest }) => rest);
  return {
    policy: text,
    hash: stableHash(JSON.stringify([text, facts, casts])),
    nodes,
    casts,
    lints: [
      ...lintPlan(plan),
      ...[...bodies.values()].flatMap(lintNodes),
      ...(recipe === undefined ? [] : lintRecipe(recipe, nodes)),
    ],
  };
}

/** A recipe with a plan in which no product is quantized. */
function lintRecipe({ name }: Recipe, nodes: readonly CastExplanation[]): readonly CastLint[] {
  const products = nodes.filter(({ quantized }) => quantized !== undefined);
  if (products.some(({ quantized }) => quantized?.operands.length !== 0)) return [];
  const reasons = [...new Set(products.map(({ quantized }) => quantized?.because))];
  const why = products.length === 0 ? "there is none" : reasons.join(", ");
  const message = `recipe: ${name} quantizes no product: ${why}`;
  const remedy =
    'the option scopes: { "": true } takes in the first and last layers, and products: "all" those without a weight; only float8() by tensor takes convolutions';
  return [{ rule: "recipe-unused", severity: "warning", node: "recipe", scope: "", message, remedy }];
}

/** The plan for a loop's body in which the policy casts nothing. */
function loopPlan(node: AnyNode, { policy, options }: CastPlan): CastPlan | undefined {
  return isNode(node, "Scan") ? planCasts(node.attributes.body, policy, options) : undefined;
}

interface Explained {
  readonly plan: CastPlan;
  readonly bodies: ReadonlyMap<AnyNode, CastPlan>;
  readonly products: ProductPlan | undefined;
}

/** Explains nodes in the graph's order. Nodes of a scan's body follow the scan; their names begin with its name. */
function explanations(facts: Explained, within: string): readonly CastExplanation[] {
  const { plan, bodies, products } = facts;
  const readers = consumers(plan.graph);
  return plan.graph.nodes.flatMap((node): readonly CastExplanation[] => {
    const { op, origin } = node;
    if (origin.custom !== undefined) return [];
    const name = `${within}${node.name}`;
    const decision = plan.decisions.get(node);
    if (decision === undefined) throw new Error(`internal: no decision on ${name}`);
    const { dtype = outputDType(plan, node, readers), rule, because } = decision;
    const body = bodies.get(node) ?? (products === undefined ? undefined : loopPlan(node, plan));
    const product = products?.get(node);
    const { recipe } = plan.options;
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
        ...(product && recipe ? { quantized: quantizedAs(product, recipe) } : {}),
      },
      ...(body === undefined ? [] : explanations({ ...facts, plan: body }, `${name}/`)),
    ];
  });
}

function quantizedAs({ roles, because }: ProductDecision, { pass, rules }: Recipe): QuantizedProduct {
  const operands = roles === undefined ? [] : [...roles, "gradient" as const];
  return { operands: operands.map((role) => ({ role, rule: pass.formatRule(rules[role]) })), because };
}

/** A constant gets the dtype of its first reader; every other node keeps the dtype it was written with. */
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
  const rows = nodes.map(({ node, dtype, rule, because, line, quantized }) => {
    const why = because === undefined ? rule : `${rule}: ${because}`;
    const reason = quantized === undefined ? why : `${why}; ${formatQuantized(quantized)}`;
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

/** Words for a recipe's decision on a product. */
function formatQuantized({ operands, because }: QuantizedProduct): string {
  if (operands.length === 0) return `not quantized: ${because}`;
  return `${because}: ${operands.map(formatOperand).join(", ")}`;
}

function formatOperand({ role, rule, statistics }: QuantizedOperand): string {
  if (statistics === undefined) return `${role} ${rule}`;
  const { amax, underflows, overflows } = statistics;
  const percent = (share: number): string => `${Number((100 * share).toPrecision(3))} %`;
  return `${role} ${rule} (amax ${Number(amax.toPrecision(3))}, underflows ${percent(underflows)}, overflows ${percent(overflows)})`;
}

export interface CastDifference {
  readonly node: string;
  /** Undefined if only the other report has the node. */
  readonly before: CastExplanation | undefined;
  readonly after: CastExplanation | undefined;
}

/** The nodes whose dtype or quantization differs, or that only one report has. */
export function diffCastReports(before: CastReport, after: CastReport): readonly CastDifference[] {
  const words = (node: CastExplanation | undefined): string => JSON.stringify(node?.quantized) ?? "";
  const old = new Map(before.nodes.map((node) => [node.node, node]));
  const now = new Map(after.nodes.map((node) => [node.node, node]));
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((node) => ({ node, before: old.get(node), after: now.get(node) }))
    .filter(({ before: old, after: now }) => old?.dtype !== now?.dtype || words(old) !== words(now));
}
