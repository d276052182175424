import { type AnyNode, type Graph, isNode, type Key, Tensor, traceInto } from "@mp/graph";
import { currentBuilder, inlineReplacing, type TracedGraph, withoutLines } from "@mp/graph/internal";
import { type EncodesByInput, type ProductPlan, planProducts } from "./plan-products.js";
import { type ObserveOperand, type Quantization, quantizedProduct } from "./quantized-product.js";
import type { RecipeFacts } from "./recipe-facts.js";

/** Values that a recipe's products read besides their operands. */
export interface RecipeContext {
  /** The stream of random numbers for stochastic rounding. */
  readonly key?: Key | undefined;
  /** With delayed scaling, by parameter, what its products' input, weight and gradient are multiplied by: f32 [3]. */
  readonly encodes?: readonly (readonly [parameter: Tensor, encodes: Tensor])[] | undefined;
}

/** The factors of delayed scaling by the inputs of a traced function that are parameters of the enclosing trace. */
export function encodesByInput(
  { graph, captured }: TracedGraph<unknown>,
  encodes: RecipeContext["encodes"],
): EncodesByInput | undefined {
  const pairs = encodes?.flatMap(([parameter, factors]) => {
    const at = captured.indexOf(Tensor.valueIn(parameter, currentBuilder("recipe"), "recipe"));
    const input = graph.inputs.slice(-captured.length)[at];
    return input === undefined ? [] : [[input.value, factors] as const];
  });
  return pairs && new Map(pairs);
}

/**
 * Replaces the products of a traced function, also in bodies of loops, by products of quantized operands with gradients
 * of their own. Apply it after casts are decided and before differentiation.
 */
export function quantizeProducts<R>(
  traced: TracedGraph<R>,
  { recipe, key, encodes }: RecipeContext & { readonly recipe: RecipeFacts },
  observe?: ObserveOperand,
): TracedGraph<R> {
  const plan = planProducts(traced.graph, recipe, encodesByInput(traced, encodes));
  let products = 0;
  const quantizationOf = (node: AnyNode): Quantization => {
    return { recipe, key, encodes: plan.get(node)?.encodes, observe, product: products++ };
  };
  const { graph, captured } = withoutLines(() => replaceProducts(traced.graph, plan, quantizationOf));
  return { ...traced, graph, captured: [...traced.captured, ...captured] };
}

/** The new graph may read further values of the enclosing trace: the counter of random numbers. */
function replaceProducts(
  { inputs, outputs, ...rest }: Graph,
  plan: ProductPlan,
  quantizationOf: (node: AnyNode) => Quantization,
): Pick<TracedGraph<unknown>, "graph" | "captured"> {
  const declared = inputs.map(({ name, role, value }) => ({ name, role, type: value }));
  const { graph, captured } = traceInto(declared, (given) =>
    inlineReplacing({ inputs, outputs, ...rest }, given, (node, operands) => {
      const roles = plan.get(node)?.roles;
      if (roles !== undefined) return [quantizedProduct(node, operands, roles, quantizationOf(node))];
      return isNode(node, "Scan")
        ? replaceLoop(node as AnyNode & { op: "Scan" }, operands, plan, quantizationOf)
        : undefined;
    }),
  );
  const named = graph.outputs.map(({ value }, index) => ({ name: outputs[index]?.name ?? "", value }));
  return { graph: { ...graph, outputs: named }, captured };
}

function replaceLoop(
  { attributes }: AnyNode & { readonly op: "Scan" },
  operands: readonly Tensor[],
  plan: ProductPlan,
  quantizationOf: (node: AnyNode) => Quantization,
): readonly Tensor[] {
  const { graph: body, captured } = replaceProducts(attributes.body, plan, quantizationOf);
  const builder = currentBuilder("scan");
  const given = [...operands, ...captured.map((value) => Tensor.of(value))];
  const values = given.map((each) => Tensor.valueIn(each, builder, "scan"));
  return builder.emit("Scan", values, { ...attributes, body }).map((value) => Tensor.of(value));
}
