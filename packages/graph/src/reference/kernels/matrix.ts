import { readContraction } from "../../graph/einsum-equation.js";
import type { OpOf } from "../../graph/families.js";
import { stridesOf } from "../../shape.js";
import { outputType, type ReferenceKernel, type ReferenceTable } from "../elements/kernel.js";
import { type BigStore, isBig, type NumberStore, operand, readFloats } from "../elements/store.js";
import { broadcastStrides, countElements, forEachRun, type Run } from "../elements/strided.js";
import { type MatrixView, multiply } from "./multiply.js";

/**
 * Adds the products of all operands for each element of the result, in the order of the summed letters. Floats
 * accumulate in f32 and are rounded to their dtype once; integers wrap.
 */
const einsumKernel: ReferenceKernel<"Einsum"> = (inputs, { equation }, outputs, arithmetic) => {
  const { dtype, shape } = outputType(outputs);
  const { operands, output, sizes } = readContraction(
    equation,
    inputs.map((input) => input.shape),
  );
  const labels = [...output, ...[...sizes.keys()].filter((label) => !output.includes(label))];
  // An operand repeats along an axis that it does not have; along a diagonal all axes of the label advance.
  const strides = operands.map((axes, index) => {
    const own = stridesOf((inputs[index] as (typeof inputs)[number]).shape);
    return labels.map((label) =>
      axes.reduce((sum, other, axis) => (other === label ? sum + (own[axis] as number) : sum), 0),
    );
  });
  const extents = labels.map((label) => sizes.get(label) as number);
  const terms = countElements(extents.slice(output.length));
  const out = arithmetic.allocate(dtype, countElements(shape));
  const stores = inputs.map(({ data }) => data);
  const add = isBig(out)
    ? bigSum(out, stores as readonly BigStore[], terms)
    : numberSum(dtype, out, stores as readonly NumberStore[], terms);
  forEachRun(extents, strides, add);
  return [arithmetic.round(dtype, out)];
};

function bigSum(out: BigStore, stores: readonly BigStore[], terms: number): Run {
  return (starts, steps, length, at) => {
    for (let k = 0; k < length; k++) {
      let product = 1n;
      for (let i = 0; i < stores.length; i++)
        product *= stores[i]?.[(starts[i] as number) + k * (steps[i] as number)] as bigint;
      const position = Math.floor((at + k) / terms);
      out[position] = (out[position] as bigint) + product;
    }
  };
}

function numberSum(dtype: string, out: NumberStore, stores: readonly NumberStore[], terms: number): Run {
  const isInteger = dtype === "i32" || dtype === "u8";
  const [first, ...others] = stores as readonly [NumberStore, ...NumberStore[]];
  return (starts, steps, length, at) => {
    for (let k = 0; k < length; k++) {
      let product = first[(starts[0] as number) + k * (steps[0] as number)] as number;
      for (let i = 0; i < others.length; i++) {
        const factor = others[i]?.[(starts[i + 1] as number) + k * (steps[i + 1] as number)] as number;
        product = isInteger ? Math.imul(product, factor) : product * factor;
      }
      const position = Math.floor((at + k) / terms);
      out[position] = (out[position] as number) + product;
    }
  };
}

/** Products and sums are in f32 for every dtype, terms in order, with one rounding to the dtype at the end. */
export const matrixKernels: ReferenceTable<OpOf<"matrix">> = {
  MatMul: (inputs, _, outputs, arithmetic) => {
    const a = operand(inputs, 0);
    const b = operand(inputs, 1);
    const { dtype, shape } = outputType(outputs);
    const left = a.shape.length === 1 ? [1, ...a.shape] : a.shape;
    const right = b.shape.length === 1 ? [...b.shape, 1] : b.shape;
    const [m, k] = left.slice(-2) as [number, number];
    const n = right.at(-1) as number;
    const vectors = (a.shape.length === 1 ? 1 : 0) + (b.shape.length === 1 ? 1 : 0);
    const batch = shape.slice(0, shape.length - (2 - vectors));
    const out = arithmetic.floats(countElements(shape));
    const strides = [left, right].map((whole) => broadcastStrides(whole.slice(0, -2), batch));
    forEachRun(batch, strides, ([i = 0, j = 0], [di = 0, dj = 0], length, at) => {
      for (let item = 0; item < length; item++) {
        const x: MatrixView = { data: readFloats(a), start: (i + item * di) * m * k, row: k, column: 1 };
        const y: MatrixView = { data: readFloats(b), start: (j + item * dj) * k * n, row: n, column: 1 };
        multiply(out, (at + item) * m * n, x, y, m, k, n);
      }
    });
    return [arithmetic.round(dtype, out)];
  },

  Gemm: (inputs, { transA, transB, alpha, beta }, outputs, arithmetic) => {
    const a = operand(inputs, 0);
    const b = operand(inputs, 1);
    const { dtype, shape } = outputType(outputs);
    const [m, n] = shape as [number, number];
    const k = a.shape[transA ? 0 : 1] as number;
    const out = arithmetic.floats(m * n);
    const view = (data: MatrixView["data"], width: number, transposed: boolean): MatrixView => ({
      data,
      start: 0,
      row: transposed ? 1 : width,
      column: transposed ? width : 1,
    });
    const x = view(readFloats(a), a.shape[1] as number, transA);
    const y = view(readFloats(b), b.shape[1] as number, transB);
    multiply(out, 0, x, y, m, k, n);
    const product = arithmetic.attribute(alpha);
    if (product !== 1) for (let at = 0; at < out.length; at++) out[at] = product * (out[at] as number);
    const c = inputs[2];
    if (c !== undefined) {
      const scale = arithmetic.attribute(beta);
      const bias = readFloats(c);
      const strides = [broadcastStrides(c.shape, shape)];
      forEachRun(shape, strides, ([start = 0], [step = 0], length, at) => {
        for (let i = 0; i < length; i++) {
          out[at + i] = (out[at + i] as number) + scale * (bias[start + i * step] as number);
        }
      });
    }
    return [arithmetic.round(dtype, out)];
  },
  Einsum: einsumKernel,
};
