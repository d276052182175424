/** One product of quantized operands, whose two gradient products quantize their operands by themselves. */
import { type AnyNode, customGradient, foldIn, type Key, Tensor, traceInto } from "@mp/graph";
import { currentBuilder, inlineReplacing, operatorGradients } from "@mp/graph/internal";
import { cast, literal, reshape, slice, stack } from "@mp/graph/ops";
import { blocksOf } from "./blocks.js";
import { withHadamard } from "./hadamard.js";
import { isProduct } from "./plan-products.js";
import { type QuantizedBlocks, quantizeBlocks, valuesOf } from "./quantize.js";
import { OPERAND_ROLES, type OperandRole, type RecipeFacts } from "./recipe-facts.js";
import { granularities, type ReadRule } from "./rule.js";

/** A role, or `ready` for an operand that has been quantized for this product. */
type Standing = OperandRole | "ready";

type Product = Pick<AnyNode, "op" | "attributes">;

/** The axes over which a product sums, of its first and its second operand. */
function innerAxes({ op, attributes }: Product, a: Tensor, b: Tensor): readonly [number, number] {
  if (op === "Gemm") {
    const { transA, transB } = attributes as { readonly transA: boolean; readonly transB: boolean };
    return [transA ? 0 : 1, transB ? 1 : 0];
  }
  // A convolution has one scale for each tensor, so that its axes do not matter.
  return [a.shape.length - 1, Math.max(b.shape.length - 2, 0)];
}

/** Whether the blocks of an operand are the same along both of its axes, so that one quantization serves all products. */
function isSquare({ granularity, rounding }: ReadRule): boolean {
  const [outer, inner] = granularities[granularity];
  return outer === inner && rounding === "nearest";
}

function emitProduct({ op, attributes }: Product, operands: readonly Tensor[]): Tensor {
  const builder = currentBuilder(op);
  const values = operands.map((operand) => Tensor.valueIn(operand, builder, op));
  return Tensor.of(builder.emitOne(op, values, attributes as never, builder.origin));
}

/** Emits a product of f32 operands, each quantized by the rule of its role along the axis that is summed over. */
function emitQuantized(
  product: Product,
  operands: readonly Tensor[],
  standings: readonly [Standing, Standing],
  quantization: Quantization,
  onQuantized: (role: OperandRole, amax: Tensor) => void,
): Tensor {
  const [a, b, ...rest] = operands as [Tensor, Tensor, ...Tensor[]];
  const axes = innerAxes(product, a, b);
  const isForWeight = standings.includes("gradient") && standings.includes("input");
  const given = quantization.recipe.hadamard && isForWeight ? withHadamard([a, b], axes) : [a, b];
  const values = given.map((x, index) => {
    const standing = standings[index] as Standing;
    if (standing === "ready") return x;
    const quantized = quantizeOperand(x, standing, axes[index] as number, quantization);
    onQuantized(standing, quantized.amax);
    return valuesOf(quantized);
  });
  return emitProduct(product, [...values, ...rest]);
}

/** A recipe with the stream of random numbers for its stochastic roundings. */
export interface Quantization {
  readonly recipe: RecipeFacts;
  readonly key?: Key | undefined;
  /** With delayed scaling, what input, weight and gradient are multiplied by before they are rounded: f32 [3]. */
  readonly encodes?: Tensor | undefined;
  readonly observe?: ObserveOperand | undefined;
  /** The position of the product among those that the recipe quantizes, from 0. */
  readonly product: number;
}

/** Looks at a quantized operand, called `0 input` in the first product; what it returns takes the operand's place. */
export type ObserveOperand = (made: QuantizedBlocks, operand: string, rule: ReadRule) => QuantizedBlocks;

/** Quantizes an f32 operand by the rule of its role. */
function quantizeOperand(
  x: Tensor,
  role: OperandRole,
  axis: number,
  { recipe, key, encodes, observe, product }: Quantization,
): QuantizedBlocks {
  const start = OPERAND_ROLES.indexOf(role);
  const encode = encodes && reshape(slice(encodes, [{ axis: 0, start, end: start + 1 }]), []);
  const made = quantizeBlocks(x, recipe.rules[role], axis, { key: key && foldIn(key, role), encode });
  return observe?.(made, `${product} ${role}`, recipe.rules[role]) ?? made;
}

/**
 * Emits a product (MatMul, Gemm or a convolution) of operands in any compute dtype, whose first two are quantized. It
 * accumulates in f32, and its result has the operands' dtype. An operand whose blocks are square, such as the whole tensor,
 * is kept as codes for the gradient products; others are quantized again from the operand itself.
 */
export function quantizedProduct(
  product: Product,
  operands: readonly Tensor[],
  roles: readonly [OperandRole, OperandRole],
  quantization: Quantization,
): Tensor {
  const { recipe } = quantization;
  const { dtype } = operands[0] as Tensor;
  const isKept = (role: OperandRole): boolean =>
    isSquare(recipe.rules[role]) && !(recipe.hadamard && role === "input");
  const wide = (tensors: readonly Tensor[]): readonly Tensor[] => tensors.map((each) => cast(each, "f32"));
  const axes = innerAxes(product, ...(operands as [Tensor, Tensor]));
  const run = customGradient(
    (encodes: readonly Tensor[], given: readonly Tensor[]) => {
      const [a, b, ...rest] = wide(given) as [Tensor, Tensor, ...Tensor[]];
      const sides = [a, b].map((x, index) => {
        const own = { ...quantization, encodes: encodes[0] };
        return quantizeOperand(x, roles[index] as OperandRole, axes[index] as number, own);
      });
      const result = cast(emitProduct(product, [...sides.map(valuesOf), ...rest]), dtype);
      const kept = sides.map(({ codes, decode }, index) =>
        isKept(roles[index] as OperandRole) ? [codes, decode] : [],
      );
      return [result, { kept, amax: encodes.length === 0 ? [] : sides.map(({ amax }) => amax) }] as const;
    },
    ({ inputs: [encodes, given], residuals: { kept, amax } }, cotangent) => {
      const standings: Standing[] = [...roles, ...given.slice(2).map(() => "ready" as const), "gradient"];
      const ready = wide([...given, cotangent]).map((x, index) => {
        const [codes, decode] = kept[index] ?? [];
        if (codes === undefined || decode === undefined) return x;
        standings[index] = "ready";
        const rule = recipe.rules[roles[index] as OperandRole];
        return valuesOf({ codes, decode, blocks: blocksOf(x.shape, rule, axes[index] as number) });
      });
      const seen = new Map(amax.map((each, index) => [roles[index] as OperandRole, each]));
      const own = { ...quantization, encodes: encodes[0] };
      const made = gradients(product, ready, standings, own, (role, largest) => seen.set(role, largest));
      // A step's magnitudes leave the backward pass as the gradients of `encodes`.
      const magnitudes = (): Tensor => stack(OPERAND_ROLES.map((role) => seen.get(role) ?? literal(0)));
      return [encodes.map(magnitudes), made.map((gradient) => cast(gradient, dtype))];
    },
    { hasResiduals: true },
  );
  return run(quantization.encodes === undefined ? [] : [quantization.encodes], operands);
}

/**
 * The gradients of a product's operands: those of its operator, each a product of quantized operands. `operands` ends
 * with the gradient of the result.
 */
function gradients(
  { op, attributes }: Product,
  operands: readonly Tensor[],
  standings: readonly Standing[],
  quantization: Quantization,
  onQuantized: (role: OperandRole, amax: Tensor) => void,
): readonly Tensor[] {
  const declared = operands.map((type, index) => ({ name: String(index), role: "capture" as const, type }));
  const traced = traceInto(declared, (given) =>
    operatorGradients(op, attributes, given.slice(0, -1), given.at(-1) as Tensor),
  );
  // An operator's gradient moves and reshapes operands before it multiplies them.
  const standing = new Map(traced.graph.inputs.map(({ value }, index) => [value, standings[index]]));
  for (const { inputs, outputs } of traced.graph.nodes)
    for (const output of outputs) standing.set(output, inputs[0] && standing.get(inputs[0]));
  return inlineReplacing(traced.graph, operands, (node, given) => {
    if (!isProduct(node)) return undefined;
    const [a = "ready", b = "ready"] = node.inputs.map((value) => standing.get(value));
    return [emitQuantized(node, given, [a, b], quantization, onQuantized)];
  });
}
