/** Products with an addend. Engines fuse the two into one kernel, which must accept every addend's shape. */
import {
  type ComputeDType,
  elementCount,
  formatShape,
  GraphBuilder,
  type HostTensor,
  type Shape,
  type Value,
} from "@mp/graph";
import { EXACT } from "../compare/allowance.js";
import type { ConformanceCase } from "../conformance-case.js";
import { generate, withoutData } from "../host-data.js";
import { type GraphCheck, partialCase } from "./kinds/graph-case.js";

/** Makes an operand. Each product needs separate operands, since engines recognize equal products. */
type Operand = (shape: Shape) => Value;
type Emit = GraphBuilder["emitOne"];

interface Product {
  readonly name: string;
  /** All shapes that may be added to the result. */
  readonly addends: readonly Shape[];
  readonly make: (operand: Operand, emit: Emit) => Value;
}

const turned = { perm: [1, 0] };
const gemm = { transA: false, transB: false, alpha: 1, beta: 1 };
const window = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group: 1 };

const toMatrix: readonly Shape[] = [[], [1], [1, 1], [3], [1, 3], [4, 1], [4, 3], [1, 1, 3], [2, 4, 3]];
const toBatches: readonly Shape[] = [[1], [3], [1, 3], [1, 1, 3], [4, 1], [2, 1, 1], [2, 1, 3], [2, 4, 3]];
const toImages: readonly Shape[] = [
  [],
  [3, 1, 1],
  [1, 3, 1, 1],
  [4],
  [1, 1, 1, 4],
  [2, 1, 1, 1],
  [2, 3, 5, 4],
];

const PRODUCTS: readonly Product[] = [
  {
    name: "a product",
    addends: toMatrix,
    make: (operand, emit) => emit("MatMul", [operand([4, 5]), operand([5, 3])], {}),
  },
  {
    name: "a product by the transpose of the first",
    addends: toMatrix,
    make: (operand, emit) =>
      emit("MatMul", [emit("Transpose", [operand([5, 4])], turned), operand([5, 3])], {}),
  },
  {
    name: "a product by the transpose of the second",
    addends: toMatrix,
    make: (operand, emit) =>
      emit("MatMul", [operand([4, 5]), emit("Transpose", [operand([3, 5])], turned)], {}),
  },
  {
    name: "Gemm of both transposed",
    addends: toMatrix,
    make: (operand, emit) =>
      emit("Gemm", [operand([5, 4]), operand([3, 5])], { ...gemm, transA: true, transB: true }),
  },
  {
    name: "Gemm of the first transposed, with a row,",
    addends: [
      [1, 3],
      [4, 1],
    ],
    make: (operand, emit) =>
      emit("Gemm", [operand([5, 4]), operand([5, 3]), operand([1, 3])], { ...gemm, transA: true }),
  },
  {
    name: "a product of no terms",
    addends: toMatrix,
    make: (operand, emit) => emit("MatMul", [operand([4, 0]), operand([0, 3])], {}),
  },
  {
    name: "Gemm of no terms",
    addends: [[], [3], [1, 3], [4, 3]],
    make: (operand, emit) => emit("Gemm", [operand([4, 0]), operand([0, 3]), operand([3])], gemm),
  },
  {
    name: "one row",
    addends: [[], [1], [3], [1, 3], [2, 3]],
    make: (operand, emit) => emit("MatMul", [operand([5]), operand([5, 3])], {}),
  },
  {
    name: "one column",
    addends: [[], [1], [1, 1], [4, 1], [3]],
    make: (operand, emit) => emit("MatMul", [operand([4, 5]), operand([5, 1])], {}),
  },
  {
    name: "batches by one matrix",
    addends: toBatches,
    make: (operand, emit) => emit("MatMul", [operand([2, 4, 5]), operand([5, 3])], {}),
  },
  {
    name: "batches",
    addends: toBatches,
    make: (operand, emit) => emit("MatMul", [operand([2, 4, 5]), operand([2, 5, 3])], {}),
  },
  {
    name: "a convolution",
    addends: toImages,
    make: (operand, emit) => emit("Conv", [operand([2, 2, 6, 5]), operand([3, 2, 2, 2])], window),
  },
  {
    name: "a convolution of each channel",
    addends: toImages,
    make: (operand, emit) =>
      emit("Conv", [operand([2, 3, 6, 5]), operand([3, 1, 2, 2])], { ...window, group: 3 }),
  },
  {
    name: "a transposed convolution",
    addends: toImages,
    make: (operand, emit) =>
      emit("ConvTranspose", [operand([2, 2, 4, 3]), operand([2, 3, 2, 2])], {
        ...window,
        outputPadding: [0, 0],
      }),
  },
];

/** The op that reads the sum, and whether the product has a second reader. */
const READINGS = {
  alone: { reads: "Neg", beside: false },
  "through-relu": { reads: "Relu", beside: false },
  "beside-the-product": { reads: "Neg", beside: true },
} as const;

/** A graph that adds each of the addends to the product, on either side. */
function check(
  { name, addends, make }: Product,
  reading: keyof typeof READINGS,
  dtype: ComputeDType,
): GraphCheck {
  const { reads, beside } = READINGS[reading];
  const builder = new GraphBuilder();
  const inputs: Record<string, HostTensor> = {};
  const outputs: Record<string, Value> = {};
  const emit: Emit = (...parts) => builder.emitOne(...parts);
  // An engine may treat the shape of an input as unknown, and that of a Reshape's result as known.
  const operand: Operand = (shape) => {
    const count = Object.keys(inputs).length;
    const size = elementCount(shape, "test data");
    // Sums of these numbers are exact in any order, in any float dtype.
    inputs[`x${count}`] = generate(dtype, [size], (at) => ((at * 7 + count * 3) % 5) - 2);
    return emit("Reshape", [builder.input(`x${count}`, { dtype, shape: [size] }, "batch")], { shape });
  };
  addends.forEach((shape, index) => {
    const isFirst = index % 2 === 1;
    const [product, addend] = [make(operand, emit), operand(shape)];
    const sum = emit("Add", isFirst ? [addend, product] : [product, addend], {});
    const called = `${name} ${isFirst ? "behind" : "before"} ${formatShape(shape)}`;
    outputs[`sum of ${called}`] = emit(reads, [sum], {});
    if (beside) outputs[`alone: ${called}`] = emit("Abs", [product], {});
  });
  return { graph: builder.finish(outputs), inputs, allowance: () => ({ ...EXACT, signedZero: false }) };
}

function sums(reading: keyof typeof READINGS, dtype: ComputeDType): ConformanceCase {
  const makeChecks = () => PRODUCTS.map((product) => check(product, reading, dtype));
  return partialCase(`fusion/sum-with-a-product-${dtype}/${reading}`, {
    fits: ({ supports }) => withoutData(makeChecks).some(({ graph }) => supports(graph)),
    build: ({ supports }) => makeChecks().filter(({ graph }) => supports(graph)),
  });
}

export const fusionCases: readonly ConformanceCase[] = [
  sums("alone", "f32"),
  sums("through-relu", "f32"),
  sums("beside-the-product", "f32"),
  sums("through-relu", "f16"),
  sums("through-relu", "bf16"),
];
