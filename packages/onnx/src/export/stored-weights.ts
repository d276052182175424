import {
  type DType,
  encodeArray,
  type HostTensor,
  isHostTensor,
  MpError,
  mapTree,
  type Tree,
} from "@mp/graph";
import { quote } from "../problem.js";

/** Rounds f32 parameters to the file's dtype. @throws MP_OUT_OF_RANGE for a number that becomes infinite */
export function narrowWeights(params: Tree<HostTensor>, dtype: "f32" | "f16" | "bf16"): Tree<HostTensor> {
  if (dtype === "f32") return params;
  return mapTree(
    params,
    isHostTensor,
    (leaf, path) => (leaf.dtype === "f32" ? narrow(leaf, dtype, path) : leaf),
    "params",
  ) as Tree<HostTensor>;
}

function narrow({ data, shape }: HostTensor<"f32">, dtype: "f16" | "bf16", path: string): HostTensor {
  const bits = encodeArray(dtype, data);
  const infinity = encodeArray(dtype, Float32Array.of(Number.POSITIVE_INFINITY))[0] as number;
  const at = data.findIndex(
    (value, index) => Number.isFinite(value) && ((bits[index] as number) & 0x7fff) === infinity,
  );
  if (at >= 0)
    throw new MpError(
      "MP_OUT_OF_RANGE",
      `exportOnnx: parameter ${quote(path)} holds ${data[at]} at ${at}, which is not finite in ${dtype}; export it in ${dtype === "f16" ? "bf16 or " : ""}f32`,
      { details: { parameter: path, index: at, value: data[at] } },
    );
  return { dtype: dtype as DType, shape, data: bits } as HostTensor;
}
