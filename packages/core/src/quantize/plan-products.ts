/** Which products of a graph are quantized, operand by operand, and why others are not. */
import {
  type AnyNode,
  expandAttentions,
  expandEinsums,
  FAMILIES,
  type Graph,
  isNode,
  type Op,
  opTable,
  PRODUCT_OPS,
  type Value,
} from "@mp/graph";
import { isWithin } from "@mp/graph/internal";
import type { OperandRole, Recipe } from "./recipe.js";

/** The decision on a product: the roles of its first two operands if it is quantized, and the reason. */
export interface ProductDecision {
  readonly roles: readonly [OperandRole, OperandRole] | undefined;
  readonly because: string;
  /** The graph's input that the weight is, alone or moved and cast. */
  readonly weight?: Value;
}

export type ProductPlan = ReadonlyMap<AnyNode, ProductDecision>;

/** What a value is computed from: parameters, data, or both. */
interface Sources {
  readonly parameters: boolean;
  readonly data: boolean;
}

const NONE: Sources = { parameters: false, data: false };
const BOTH: Sources = { parameters: true, data: true };

const join = (all: readonly Sources[]): Sources => ({
  parameters: all.some(({ parameters }) => parameters),
  data: all.some(({ data }) => data),
});

const isWeight = ({ parameters, data }: Sources): boolean => parameters && !data;

export const isProduct = ({ op }: AnyNode): boolean => (PRODUCT_OPS as readonly Op[]).includes(op);
const isMove = ({ op }: AnyNode): boolean =>
  op === "Cast" || opTable[op].moves === "view" || op === "Transpose";
const isConvolution = ({ op }: AnyNode): boolean => (FAMILIES.convolution as readonly Op[]).includes(op);

/** Expands the operators that contain products, so that those can be quantized: attention only if all products are. */
export function expandedFor(graph: Graph, { products }: Recipe): Graph {
  return expandEinsums(products === "all" ? expandAttentions(graph) : graph);
}

/**
 * Decides on every product of a graph and of the bodies of its loops.
 * @param sources what the graph's inputs are computed from; by default their roles say
 */
export function planProducts(graph: Graph, recipe: Recipe, sources?: readonly Sources[]): ProductPlan {
  const isBody = sources !== undefined;
  const plan = new Map<AnyNode, ProductDecision>();
  const known = new Map<Value, Sources>();
  graph.inputs.forEach(({ role, value }, index) => {
    known.set(value, sources?.[index] ?? { parameters: role === "parameter", data: role !== "parameter" });
  });
  const of = (value: Value | undefined): Sources => (value && known.get(value)) ?? NONE;
  const parameters = new Map<Value, Value>();
  for (const { role, value } of graph.inputs) if (role === "parameter") parameters.set(value, value);
  for (const node of graph.nodes) {
    const source = isMove(node) ? parameters.get(node.inputs[0] as Value) : undefined;
    if (source !== undefined) for (const output of node.outputs) parameters.set(output, source);
    const joined = join(node.inputs.map(of));
    for (const output of node.outputs) known.set(output, joined);
    if (!isNode(node, "Scan")) continue;
    // A carry depends on the parameters from the second step on.
    const inner = node.inputs.map((value, index) => (index < node.attributes.carries ? BOTH : of(value)));
    for (const [at, decision] of planProducts(node.attributes.body, recipe, inner)) plan.set(at, decision);
  }

  const learns = (node: AnyNode): boolean =>
    isProduct(node) && node.inputs.slice(0, 2).some((value) => isWeight(of(value)));
  // Values from which a product with a weight is computed. What a loop's body returns may reach its own products.
  const read = new Set<Value>(isBody ? graph.outputs.map(({ value }) => value) : []);
  for (const node of graph.nodes.toReversed()) {
    const isLast = !node.outputs.some((value) => read.has(value));
    const hasWeight = learns(node);
    if (node.op === "Attention") plan.set(node, { roles: undefined, because: NO_WEIGHT });
    if (isProduct(node)) {
      const decision = decide(node, recipe, node.inputs.map(of), isLast);
      const weights = node.inputs.slice(0, 2).flatMap((value) => parameters.get(value) ?? []);
      const [weight] = weights;
      plan.set(node, weights.length === 1 && weight !== undefined ? { ...decision, weight } : decision);
    }
    const loops = isNode(node, "Scan") && node.attributes.body.nodes.some((inner) => plan.get(inner)?.roles);
    if (hasWeight || loops || !isLast) for (const value of node.inputs) read.add(value);
  }
  return plan;
}

const NO_WEIGHT = "no operand is a weight";

function decide(
  node: AnyNode,
  recipe: Recipe,
  sources: readonly Sources[],
  isLast: boolean,
): ProductDecision {
  const out = (because: string): ProductDecision => ({ roles: undefined, because });
  if (node.origin.castSettled !== undefined) return out("an inner policy decides");
  const [a = NONE, b = NONE] = sources;
  const roles = [a, b].map((each): OperandRole => (isWeight(each) ? "weight" : "input"));
  const [scope, isChosen] = ruling(recipe, node.origin.scope);
  const where = scope === undefined ? undefined : `scope ${scope === "" ? '""' : scope}`;
  if (isChosen === false) return out(where ?? "");
  if (recipe.products === "weights" && !roles.includes("weight")) return out(NO_WEIGHT);
  const isByTensor = Object.values(recipe.rules).every(({ granularity }) => granularity === "tensor");
  if (isConvolution(node) && (!isByTensor || recipe.hadamard))
    return out("a convolution takes tensor scaling only");
  const isFirst = roles.includes("weight") && [a, b].some(({ data, parameters }) => data && !parameters);
  if (isChosen === undefined && isFirst) return out("first layer");
  if (isChosen === undefined && isLast) return out("last layer");
  return { roles: roles as [OperandRole, OperandRole], because: where ?? recipe.name };
}

/** The longest scope path that the node is in, and whether the recipe takes its products. */
function ruling(
  { scopes }: Recipe,
  scope: string,
): readonly [path: string | undefined, isChosen: boolean | undefined] {
  const [longest] = Object.keys(scopes)
    .filter((path) => isWithin(scope, path))
    .sort((a, b) => b.length - a.length);
  return [longest, longest === undefined ? undefined : scopes[longest]];
}
