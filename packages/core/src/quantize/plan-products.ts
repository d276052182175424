/** Decides for each product of a graph whether and how its operands are quantized, and says why. */
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
  type Tensor,
  type Value,
} from "@mp/graph";
import { isWithin, reachedValues } from "@mp/graph/internal";
import type { OperandRole, RecipeFacts } from "./recipe-facts.js";

/** The decision on a product: the roles of its first two operands if it is quantized, and the reason. */
export interface ProductDecision {
  readonly roles: readonly [OperandRole, OperandRole] | undefined;
  readonly because: string;
  /** The factors of input, weight and gradient, f32 [3]; undefined if their scales are not delayed. */
  readonly encodes?: Tensor | undefined;
}

export type ProductPlan = ReadonlyMap<AnyNode, ProductDecision>;

/** The factors of a run's step, by the graph's inputs. */
export type EncodesByInput = ReadonlyMap<Value, Tensor>;

/** Sources that a value is computed from: parameters, data, or both. */
interface Sources {
  readonly parameters: boolean;
  readonly data: boolean;
  /** The graph's parameter, if the value is one, at most moved and cast. */
  readonly parameter?: Value;
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
export function expandedFor(graph: Graph, { products }: RecipeFacts): Graph {
  return expandEinsums(products === "all" ? expandAttentions(graph) : graph);
}

/** Finds what each value of a graph is computed from. Inputs have the given sources; by default their roles say. */
function findSources(
  { inputs, nodes }: Graph,
  given: readonly Sources[] | undefined,
): (value: Value | undefined) => Sources {
  const known = new Map<Value, Sources>();
  const of = (value: Value | undefined): Sources => (value && known.get(value)) ?? NONE;
  for (const [index, { role, value }] of inputs.entries()) {
    const isParameter = role === "parameter";
    const own = { parameters: isParameter, data: !isParameter, ...(isParameter ? { parameter: value } : {}) };
    known.set(value, given?.[index] ?? own);
  }
  for (const node of nodes) {
    const sources = isMove(node) ? of(node.inputs[0]) : join(node.inputs.map(of));
    for (const output of node.outputs) known.set(output, sources);
  }
  return of;
}

/**
 * Decides on every product of a graph and of the bodies of its loops.
 * @param encodes what a run's step has for delayed scaling; undefined outside of one
 * @param given what the graph's inputs are computed from, if it is the body of a loop
 */
export function planProducts(
  graph: Graph,
  recipe: RecipeFacts,
  encodes?: EncodesByInput,
  given?: readonly Sources[],
): ProductPlan {
  const plan = new Map<AnyNode, ProductDecision>();
  const of = findSources(graph, given);
  // Values from which a product with a weight is computed. What a loop's body returns may reach its own products.
  const read = new Set<Value>(given === undefined ? [] : graph.outputs.map(({ value }) => value));
  const reached = reachedValues(graph, graph.outputs[0]?.value);
  for (const node of graph.nodes.toReversed()) {
    const isLast = !node.outputs.some((value) => read.has(value));
    let isRead = !isLast;
    if (node.op === "Attention") plan.set(node, { roles: undefined, because: NO_WEIGHT });
    if (isProduct(node)) {
      const sources = node.inputs.slice(0, 2).map(of);
      const [weight, ...others] = sources.flatMap(({ parameter }) => parameter ?? []);
      const decision = decide(node, recipe, sources, isLast);
      const own = others.length > 0 ? undefined : weight;
      const isReached = node.outputs.some((value) => reached.has(value));
      const isDelayed = recipe.scaling !== undefined && decision.roles !== undefined;
      plan.set(node, isDelayed ? withHistory(decision, own, encodes, isReached) : decision);
      isRead ||= sources.some(isWeight);
    }
    if (isNode(node, "Scan")) {
      const { body, carries } = node.attributes;
      // A carry depends on the parameters from the second step on.
      const inner = node.inputs.map((value, index) => (index < carries ? BOTH : join([of(value)])));
      const ofBody = planProducts(body, recipe, encodes, inner);
      for (const [at, decision] of ofBody) plan.set(at, decision);
      isRead ||= body.nodes.some((each) => ofBody.get(each)?.roles);
    }
    if (isRead) for (const value of node.inputs) read.add(value);
  }
  return plan;
}

/** Adds the factors of earlier steps to a decision, or says why the product has current scaling. */
function withHistory(
  decision: ProductDecision,
  weight: Value | undefined,
  encodes: EncodesByInput | undefined,
  isReached: boolean,
): ProductDecision {
  const current = (why: string): ProductDecision => {
    return { ...decision, because: `${decision.because}, current scaling, as ${why}` };
  };
  if (weight === undefined || weight.shape.length < 2)
    return current("the weight is no parameter of two or more axes outside of loops");
  if (encodes === undefined) return current("only the recipe of a run has a history");
  if (!encodes.has(weight)) return current("the weight is frozen");
  return isReached
    ? { ...decision, encodes: encodes.get(weight) }
    : current("no gradient reaches the product");
}

const NO_WEIGHT = "no operand is a weight";

function decide(
  node: AnyNode,
  recipe: RecipeFacts,
  sources: readonly Sources[],
  isLast: boolean,
): ProductDecision {
  const out = (because: string): ProductDecision => ({ roles: undefined, because });
  const { castSettled } = node.origin;
  if (castSettled === "recipe") return out("an inner recipe decides, without delayed scaling");
  if (castSettled !== undefined) return out("an inner policy decides");
  const [a = NONE, b = NONE] = sources;
  const roles = [a, b].map((each): OperandRole => (isWeight(each) ? "weight" : "input"));
  const scopes = Object.keys(recipe.scopes).filter((path) => isWithin(node.origin.scope, path));
  const [scope] = scopes.sort((a, b) => b.length - a.length);
  const isChosen = scope === undefined ? undefined : recipe.scopes[scope];
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
