/** The i64 values that a backend can hold if it stores i64 as i32, which its manifest may declare. */
import type { BackendManifest, HostTensor } from "@mp/graph";

type Manifest = Pick<BackendManifest, "dtypes">;

export const holdsShortIntegers = ({ dtypes: { i64 } }: Manifest): boolean =>
  "storage" in i64 && i64.storage === "i32";

export const isBeyondShort = ({ dtype, data }: HostTensor): boolean =>
  dtype === "i64" && Array.from(data, Number).some((number) => number !== (number | 0));

/** Replaces i64 values by ones that the backend can hold: their low 32 bits if it stores i64 as i32. */
export function holdable(tensor: HostTensor, manifest: Manifest): HostTensor {
  if (tensor.dtype !== "i64" || !holdsShortIntegers(manifest)) return tensor;
  return { ...tensor, data: tensor.data.map((number) => BigInt.asIntN(32, number)) };
}
