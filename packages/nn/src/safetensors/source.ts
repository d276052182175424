// A tensor of a file as numbers in f32, decoded when it is asked for.
import { MpError, type Shape } from "@mp/core";
import { decodeArray } from "@mp/core/graph";
import { arrayOf, type SafetensorsDType, type SafetensorsTensor } from "@mp/safetensors";

/** Numbers that were read from the file, and their shape. */
export interface FloatArray {
  readonly shape: Shape;
  readonly data: Float32Array;
}

export interface Source extends FloatArray {
  /** The tensor's name in the file. */
  readonly name: string;
  /** Whether the file stores a matrix as [inputs, outputs]. */
  readonly inputsFirst: boolean;
}

type Decode = (tensor: SafetensorsTensor) => Float32Array;

const DECODED: Readonly<Partial<Record<SafetensorsDType, Decode>>> = {
  F32: (tensor) => arrayOf(tensor, "F32"),
  F64: (tensor) => Float32Array.from(arrayOf(tensor, "F64")),
  F16: (tensor) => decodeArray("f16", arrayOf(tensor, "F16")),
  BF16: (tensor) => decodeArray("bf16", arrayOf(tensor, "BF16")),
};

/** Returns why a tensor's dtype cannot be the dtype of weights; undefined if it can. */
export const dtypeProblem = ({ dtype }: SafetensorsTensor): string | undefined =>
  dtype in DECODED ? undefined : `is ${dtype} in the file, weights are ${Object.keys(DECODED).join(", ")}`;

export function decodeSource(name: string, tensor: SafetensorsTensor, inputsFirst: boolean): Source {
  const decode = DECODED[tensor.dtype];
  if (decode === undefined) throw new MpError("MP_UNSUPPORTED", `${name} ${dtypeProblem(tensor)}`);
  return { name, inputsFirst, shape: tensor.shape, data: decode(tensor) };
}
