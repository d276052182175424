import {
  decodeArray,
  type HostTensor,
  isFloat,
  isHostTensor,
  type MapLeaves,
  MpError,
  mapTree,
} from "@mp/graph";

/** The tfjs function that creates a `tf.Tensor`, which has type `R`. */
export interface TensorMaker<R> {
  tensor(values: Float32Array | Int32Array | Uint8Array, shape: number[], dtype: never): R;
}

type Converted = readonly [
  values: Float32Array | Int32Array | Uint8Array,
  dtype: "float32" | "int32" | "bool",
];

/**
 * Converts a tree of host tensors, such as `predict` and `params` return, to a tree of `tf.Tensor`s, which
 * the caller must dispose of. Floats of any width become float32 and u8 becomes int32, both exactly.
 * @example
 * ```ts
 * const scores = toTf(tf, await training.predict(model, x));
 * ```
 * @throws MP_UNSUPPORTED for i64 and u64, for which tfjs has no dtype
 */
export function toTf<T, R extends object>(tf: TensorMaker<R>, tree: T): MapLeaves<T, HostTensor, R> {
  const made = mapTree(tree, isHostTensor, (leaf) => {
    const [values, dtype] = convert(leaf);
    return tf.tensor(values, [...leaf.shape], dtype as never);
  });
  return made as MapLeaves<T, HostTensor, R>;
}

function convert(leaf: HostTensor): Converted {
  const { dtype, data } = leaf;
  if (isFloat(dtype)) return [decodeArray(dtype, data as never), "float32"];
  if (dtype === "i32") return [data as Int32Array, "int32"];
  if (dtype === "u8") return [Int32Array.from(data as Uint8Array), "int32"];
  if (dtype === "bool") return [data as Uint8Array, "bool"];
  throw new MpError("MP_UNSUPPORTED", `toTf: tfjs has no ${dtype}, cast it to i32 or f32 in the graph`, {
    details: { dtype },
  });
}
