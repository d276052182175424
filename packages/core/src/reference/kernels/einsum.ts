import { contractionOf } from "../../graph/einsum-equation.js";
import { stridesOf } from "../../shape.js";
import { outputType, type ReferenceKernel } from "../kernel.js";
import { type BigStore, isBig, type NumberStore } from "../store.js";
import { forEachRun, sizeOf } from "../strided.js";

/**
 * For each element of the result the products of all operands, added in the order of the summed letters. Floats
 * accumulate in f32 and are rounded to their dtype once; integers wrap.
 */
export const einsumKernel: ReferenceKernel<"Einsum"> = (inputs, { equation }, outputs, arithmetic) => {
  const { dtype, shape } = outputType(outputs);
  const { operands, output, sizes } = contractionOf(
    equation,
    inputs.map((input) => input.shape),
  );
  const labels = [...output, ...[...sizes.keys()].filter((label) => !output.includes(label))];
  // Along an axis that it does not have an operand repeats; along a diagonal all axes of the label advance.
  const strides = operands.map((axes, index) => {
    const own = stridesOf((inputs[index] as (typeof inputs)[number]).shape);
    return labels.map((label) =>
      axes.reduce((sum, other, axis) => (other === label ? sum + (own[axis] as number) : sum), 0),
    );
  });
  const extents = labels.map((label) => sizes.get(label) as number);
  const terms = sizeOf(extents.slice(output.length));
  const out = arithmetic.allocate(dtype, sizeOf(shape));
  const stores = inputs.map(({ data }) => data);
  const add = isBig(out)
    ? bigSum(out, stores as readonly BigStore[])
    : numberSum(dtype, out, stores as readonly NumberStore[]);
  const places = new Array<number>(inputs.length);
  forEachRun(extents, strides, (starts, steps, length, at) => {
    for (let k = 0; k < length; k++) {
      for (let i = 0; i < places.length; i++) places[i] = (starts[i] as number) + k * (steps[i] as number);
      add(Math.floor((at + k) / terms), places);
    }
  });
  return [arithmetic.round(dtype, out)];
};

type Add = (place: number, places: readonly number[]) => void;

function bigSum(out: BigStore, stores: readonly BigStore[]): Add {
  return (place, places) => {
    let product = 1n;
    for (let i = 0; i < stores.length; i++) product *= stores[i]?.[places[i] as number] as bigint;
    out[place] = (out[place] as bigint) + product;
  };
}

function numberSum(dtype: string, out: NumberStore, stores: readonly NumberStore[]): Add {
  const isInteger = dtype === "i32" || dtype === "u8";
  return (place, places) => {
    let product = stores[0]?.[places[0] as number] as number;
    for (let i = 1; i < stores.length; i++) {
      const factor = stores[i]?.[places[i] as number] as number;
      product = isInteger ? Math.imul(product, factor) : product * factor;
    }
    out[place] = (out[place] as number) + product;
  };
}
