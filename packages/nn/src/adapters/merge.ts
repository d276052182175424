import { type HostTensor, isHostTensor, MpError, mapTree, tensor } from "@mp/core";
import { decodeArray, isFloat } from "@mp/core/graph";
import type { NamedParameters } from "./adaptable-model.js";

/** Weights in f32 that share no memory with the given ones where those are in another dtype. */
export function inF32(tree: NamedParameters): NamedParameters {
  return mapTree<unknown, HostTensor, HostTensor>(tree, isHostTensor, (leaf, path) => {
    if (leaf.dtype === "f32") return leaf;
    if (isFloat(leaf.dtype)) return tensor(decodeArray(leaf.dtype, leaf.data as never), leaf.shape);
    throw new MpError("MP_DTYPE_MISMATCH", `merge: weights must be floats, got ${leaf.dtype} at ${path}`);
  }) as NamedParameters;
}

/** W + scale · B · A, as a new tensor. */
export function merged(
  weight: HostTensor<"f32">,
  down: HostTensor<"f32">,
  up: HostTensor<"f32">,
  scale: number,
): HostTensor<"f32"> {
  const data = Float32Array.from(weight.data);
  const [rank = 0, inputs = 0] = down.shape;
  for (let output = 0; output * inputs < data.length; output++) {
    const row = data.subarray(output * inputs, (output + 1) * inputs);
    for (let index = 0; index < inputs; index++) {
      let sum = 0;
      for (let at = 0; at < rank; at++)
        sum += (up.data[output * rank + at] as number) * (down.data[at * inputs + index] as number);
      row[index] = (row[index] as number) + scale * sum;
    }
  }
  return tensor(data, weight.shape);
}
