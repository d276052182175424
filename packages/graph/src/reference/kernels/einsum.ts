import { readContraction } from "../../graph/einsum-equation.js";
import { stridesOf } from "../../shape.js";
import { outputType, type ReferenceKernel } from "../elements/kernel.js";
import { type BigStore, isBig, type NumberStore } from "../elements/store.js";
import { countElements, forEachRun, type Run } from "../elements/strided.js";

/**
 * Adds the products of all operands for each element of the result, in the order of the summed letters. Floats
 * accumulate in f32 and are rounded to their dtype once; integers wrap.
 */
export const einsumKernel: ReferenceKernel<"Einsum"> = (inputs, { equation }, outputs, arithmetic) => {
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
