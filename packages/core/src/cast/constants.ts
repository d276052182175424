/** Converts constants when the graph is rewritten. They are rounded once from the original numbers, without a cast. */
import {
  type ComputeDType,
  decodeArray,
  encodeArray,
  type HostTensor,
  isComputeFloat,
  type OpAttributes,
  roundTo,
  tensor,
} from "@mp/graph";

type ConstantAttributes = OpAttributes["Constant"];

/** The elements of a float constant; for a constant from a literal, the number before rounding. */
function readNumbers({ value, literal }: ConstantAttributes): Float32Array | Float64Array {
  if (literal !== undefined && value.data.length === 1) return Float64Array.of(literal);
  if (value.dtype === "f16" || value.dtype === "bf16") return decodeArray(value.dtype, value.data);
  return value.dtype === "f32" ? value.data : new Float32Array(0);
}

/** The same constant in another dtype, rounded once. */
export function constantIn(attributes: ConstantAttributes, dtype: ComputeDType): ConstantAttributes {
  const { value, literal } = attributes;
  if (value.dtype === dtype || !isComputeFloat(value.dtype)) return attributes;
  const data = encodeArray(dtype, readNumbers(attributes));
  const rounded: HostTensor = tensor(data, value.shape, dtype);
  return literal === undefined ? { value: rounded } : { value: rounded, literal };
}

/** Overflow and underflow of a constant in a dtype. */
export interface ConstantLoss {
  /** The first finite number that becomes infinite. */
  readonly overflow?: number;
  /** The value of a scalar that becomes zero. Zeros in larger constants are not reported. */
  readonly underflow?: number;
}

export function constantLoss(attributes: ConstantAttributes, dtype: ComputeDType): ConstantLoss {
  const numbers = readNumbers(attributes);
  const overflow = numbers.find(
    (number) => Number.isFinite(number) && !Number.isFinite(roundTo(dtype, number)),
  );
  if (overflow !== undefined) return { overflow };
  const [first = 0] = numbers;
  return numbers.length === 1 && vanishes(first, dtype) ? { underflow: first } : {};
}

/** The message for a number that overflows in a dtype. */
export const beyondRange = (number: number, dtype: ComputeDType): string =>
  `${number} has no finite value in ${dtype}`;

/** Whether a nonzero number rounds to zero in that dtype. */
export function vanishes(number: number, dtype: ComputeDType): boolean {
  return number !== 0 && roundTo(dtype, number) === 0;
}
