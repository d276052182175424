import { type DType, encode, type HostTensor, hostArrayOf, isFloat, MpError, type Shape } from "@mp/graph";

/**
 * A tensor of these numbers, each rounded once from f64; beyond the range of a float dtype they are infinite.
 * @throws MP_OUT_OF_RANGE for a number that an integer dtype does not hold
 */
export function literals(
  values: readonly number[],
  dtype: DType,
  shape: Shape = [values.length],
): HostTensor {
  const data = new hostArrayOf[dtype](values.length);
  values.forEach((value, index) => {
    if (data instanceof Float32Array) data[index] = value;
    else if (data instanceof BigInt64Array || data instanceof BigUint64Array) data[index] = BigInt(value);
    else data[index] = isFloat(dtype) ? encode(dtype, value) : value;
    if (!isFloat(dtype) && (Number(data[index]) !== value || (dtype === "bool" && value > 1))) {
      throw new MpError("MP_OUT_OF_RANGE", `onnx: ${value} is no ${dtype}`, { details: { value, dtype } });
    }
  });
  return { dtype, shape, data } as HostTensor;
}
