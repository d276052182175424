/** The values of i64 that a backend holds which stores it as i32, as its manifest may say. */
import type { BackendManifest, HostTensor } from "@mp/graph";

type Manifest = Pick<BackendManifest, "dtypes">;

export const holdsShortIntegers = ({ dtypes: { i64 } }: Manifest): boolean =>
  "storage" in i64 && i64.storage === "i32";

export const isBeyondShort = ({ dtype, data }: HostTensor): boolean =>
  dtype === "i64" && Array.from(data, Number).some((number) => number !== (number | 0));

/** The tensor with values that the backend holds: the low 32 bits of i64 where it is stored as i32. */
export function holdable(tensor: HostTensor, manifest: Manifest): HostTensor {
  if (tensor.dtype !== "i64" || !holdsShortIntegers(manifest)) return tensor;
  return { ...tensor, data: tensor.data.map((number) => BigInt.asIntN(32, number)) };
}
