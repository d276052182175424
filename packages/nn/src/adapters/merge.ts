import { type HostTensor, MpError, mapTree, type Tree, tensor } from "@mp/core";
import { decodeArray, isFloat } from "@mp/core/graph";
import { isStoredWeight, type StoredWeight, weightOnHost } from "../quantized/stored-weight.js";
import type { NamedParameters } from "./adaptable-model.js";
import type { AdaptedLayer } from "./adapter-tree.js";

export type Weight = HostTensor<"f32">;

/** Converts weights to f32. Weights that are f32 already are not copied. */
export function inF32(tree: Tree<HostTensor>): NamedParameters {
  return mapTree<unknown, StoredWeight<HostTensor>, HostTensor>(tree, isStoredWeight, (leaf, path) => {
    const weight = weightOnHost(leaf);
    if (weight.dtype === "f32") return weight;
    if (isFloat(weight.dtype)) return tensor(decodeArray(weight.dtype, weight.data as never), weight.shape);
    throw new MpError("MP_DTYPE_MISMATCH", `merge: weights must be floats, got ${weight.dtype} at ${path}`);
  }) as NamedParameters;
}

/** Computes W + scale · B · A as a new tensor, with W [outputs, inputs], or [inputs, outputs] if `isInputsFirst`. */
export function mergeWeight(layer: AdaptedLayer<Weight, Weight>, scale: number): Weight {
  const { down, up, part } = layer;
  const { inputs, outputs, isInputsFirst } = layer.place;
  const data = Float32Array.from(part.weight.data);
  const [rank = 0] = down.shape;
  for (let output = 0; output < outputs; output++) {
    for (let index = 0; index < inputs; index++) {
      let sum = 0;
      for (let at = 0; at < rank; at++)
        sum += (up.data[output * rank + at] as number) * (down.data[at * inputs + index] as number);
      const place = isInputsFirst ? index * outputs + output : output * inputs + index;
      data[place] = (data[place] as number) + scale * sum;
    }
  }
  return tensor(data, part.weight.shape);
}
