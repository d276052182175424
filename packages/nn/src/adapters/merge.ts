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

/** W + scale · B · A, as a new tensor; W is [inputs, outputs] where the layer says so. */
export function merged(
  { weight, isInputsFirst }: { readonly weight: HostTensor<"f32">; readonly isInputsFirst: boolean },
  down: HostTensor<"f32">,
  up: HostTensor<"f32">,
  scale: number,
): HostTensor<"f32"> {
  const data = Float32Array.from(weight.data);
  const [rank = 0, inputs = 0] = down.shape;
  const outputs = up.shape[0] ?? 0;
  for (let output = 0; output < outputs; output++) {
    for (let index = 0; index < inputs; index++) {
      let sum = 0;
      for (let at = 0; at < rank; at++)
        sum += (up.data[output * rank + at] as number) * (down.data[at * inputs + index] as number);
      const place = isInputsFirst ? index * outputs + output : output * inputs + index;
      data[place] = (data[place] as number) + scale * sum;
    }
  }
  return tensor(data, weight.shape);
}
