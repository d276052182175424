/** The matrix products and convolutions of a compiled program, with the types in which they are computed. */
import type { HloInstruction } from "./hlo-module.js";
import { messageAt, numberAt, numbersAt } from "./protobuf.js";
import { countOf, type HloShape } from "./shape.js";

export interface Product {
  /** `dot`, `convolution`, or the name of a library's function. */
  readonly kind: string;
  /** Types of the operands, by XLA's names. */
  readonly operands: readonly string[];
  /** Bytes of the operands. */
  readonly operandBytes: number;
  /**
   * The type in which terms are summed. A library adds 8-bit floats in parts: each in fewer bits than f32 has, and the
   * parts in f32 (`split-f32`) or, if the program lets it be fast, also in fewer bits (`fewer-bits`).
   */
  readonly sum: string;
  readonly result: string;
  /** Whether the device may round f32 operands to TF32. */
  readonly mayUseTf32: boolean;
  /** Number of multiplications and additions. */
  readonly flops: number;
}

const TRITON = /"kind":"__triton/;
const LIBRARIES = /gemm|matmul|conv|fmha/i;
/** The library call for products of 8-bit floats. */
export const BYTE_MATMUL = "__cublas$lt$matmul$f8";
const HALVES: readonly string[] = ["f16", "bf16"];

/** XLA's number for the precision HIGHEST. */
const HIGHEST = 2;
/** XLA's number for the product algorithm that computes in f32. */
const F32_ALGORITHM = 11;

/** Returns the products that a kernel computes, including those inside a fusion. */
export function kernelProducts(kernel: HloInstruction): readonly Product[] {
  if (kernel.opcode === "fusion") {
    const products = kernel.called.flatMap(({ instructions }) => instructions.flatMap(kernelProducts));
    return TRITON.test(kernel.config) ? products.map(withWideSums) : products;
  }
  if (kernel.opcode === "custom-call") return LIBRARIES.test(kernel.target) ? [libraryProduct(kernel)] : [];
  return isProduct(kernel) ? [ownProduct(kernel)] : [];
}

const isProduct = ({ opcode }: HloInstruction): boolean =>
  opcode === "dot" || opcode === "scaled-dot" || opcode === "convolution";

/** A product for which XLA itself writes a kernel. */
function ownProduct(product: HloInstruction): Product {
  const { opcode, shape } = product;
  const flops = opcode === "convolution" ? convolutionFlops(product) : dotFlops(product);
  return { ...typesOf(product, shape), kind: opcode, mayUseTf32: mayUseTf32(product), flops };
}

/** A product that a library's function computes. */
function libraryProduct(call: HloInstruction): Product {
  const result = call.shape.parts[0] ?? call.shape;
  const types = typesOf(call, result);
  const isConvolution = /conv/i.test(call.target);
  const isAttention = /fmha/i.test(call.target);
  return {
    ...withWideSums(types),
    ...(call.target === BYTE_MATMUL ? { sum: isPrecise(call) ? "split-f32" : "fewer-bits" } : {}),
    kind: call.target,
    mayUseTf32: isConvolution ? mayUseTf32(call) : mayCallUseTf32(call),
    flops: isConvolution
      ? convolutionFlops(call)
      : isAttention
        ? attentionFlops(call)
        : callFlops(call, result),
  };
}

/** Sets the sum type of products of half dtypes to f32, in which tensor cores sum whatever the result type. */
const withWideSums = <T extends Pick<Product, "operands" | "sum">>(product: T): T =>
  product.operands.every((type) => HALVES.includes(type)) ? { ...product, sum: "f32" } : product;

function typesOf(
  { operands }: HloInstruction,
  { type }: HloShape,
): Pick<Product, "operands" | "operandBytes" | "sum" | "result"> {
  const shapes = operands.slice(0, 2).map(({ shape }) => shape);
  const operandBytes = shapes.reduce((sum, { bytes }) => sum + bytes, 0);
  return { operands: shapes.map((shape) => shape.type), operandBytes, sum: type, result: type };
}

const isF32 = ({ operands }: HloInstruction): boolean =>
  operands.slice(0, 2).every(({ shape }) => shape.type === "f32");

function mayUseTf32(product: HloInstruction): boolean {
  const precision = messageAt(product.message, 51);
  const algorithm = numberAt(precision, 2);
  if (algorithm !== 0) return isF32(product) && algorithm !== F32_ALGORITHM;
  // Further operands of a library call, such as a bias, have no precision.
  const asked = numbersAt(precision, 1).slice(0, 2);
  return isF32(product) && !(asked.length > 0 && asked.every((each) => each === HIGHEST));
}

interface GemmConfig {
  readonly dot_dimension_numbers?: Readonly<Record<string, readonly string[]>>;
  readonly precision_config?: {
    readonly operand_precision?: readonly string[];
    readonly algorithm?: string;
  };
}

function gemmConfig({ config }: HloInstruction): GemmConfig {
  const parsed = JSON.parse(config || "{}") as { readonly gemm_backend_config?: GemmConfig };
  return parsed.gemm_backend_config ?? {};
}

const mayCallUseTf32 = (call: HloInstruction): boolean => isF32(call) && !isPrecise(call);

/** Whether a library's product must round neither operands nor sums more than its types do. */
function isPrecise(call: HloInstruction): boolean {
  const { operand_precision: asked = [], algorithm = "ALG_UNSET" } = gemmConfig(call).precision_config ?? {};
  if (algorithm !== "ALG_UNSET") return algorithm === "ALG_DOT_F32_F32_F32";
  const both = asked.slice(0, 2);
  return both.length > 0 && both.every((each) => each === "HIGHEST");
}

const sizesOf = (operand: HloInstruction | undefined): readonly number[] => operand?.shape.sizes ?? [];

function dotFlops({ message, operands, shape }: HloInstruction): number {
  const summed = numbersAt(messageAt(message, 30), 1);
  const left = sizesOf(operands[0]);
  return 2 * countOf(shape.sizes) * countOf(summed.map((axis) => left[axis] ?? 1));
}

function callFlops(call: HloInstruction, result: HloShape): number {
  const summed = gemmConfig(call).dot_dimension_numbers?.["lhs_contracting_dimensions"] ?? [];
  const left = sizesOf(call.operands[0]);
  return 2 * countOf(result.sizes) * countOf(summed.map((axis) => left[Number(axis)] ?? 1));
}

/** Counts attention's products with the query [batch, time, heads, size]: two, or five in a gradient. */
function attentionFlops({ target, operands }: HloInstruction): number {
  const [query, key] = [sizesOf(operands[0]), sizesOf(operands[1])];
  return (/Backward/.test(target) ? 10 : 4) * countOf(query) * (key[1] ?? 0);
}

/**
 * Counts, for each output element, one multiplication and one addition per kernel element of its channel. For
 * both gradients the forward output is an operand; for the kernel's gradient the kernel is the result.
 */
function convolutionFlops({ target, message, shape, operands }: HloInstruction): number {
  const first = shape.parts[0] ?? shape;
  const [a, b] = operands.map((operand) => operand.shape);
  const [output, kernel] = /BackwardInput/i.test(target)
    ? [a, b]
    : /BackwardFilter/i.test(target)
      ? [b, first]
      : [first, b];
  const features = kernel?.sizes[numberAt(messageAt(message, 16), 4)] ?? 1;
  return (2 * countOf(output?.sizes ?? []) * countOf(kernel?.sizes ?? [])) / features;
}
