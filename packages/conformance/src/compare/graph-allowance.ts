import {
  type BackendManifest,
  floatFormats,
  type Graph,
  type HostTensor,
  isComputeFloat,
  sameShape,
} from "@mp/graph";
import { toNumbers } from "../host-data.js";
import { manifestAllowance } from "./allowance.js";
import { compareTensors, type Mismatch } from "./compare-tensors.js";

/** Factor by which accumulated errors may exceed the sum of the nodes' tolerances; it is enough for tame data. */
const SAFETY = 4;

/** Largest error of a node in ulps of its half dtype, even if it accumulates in that dtype; sums here are short. */
const LOST_IN_A_HALF = 4;

/**
 * The sum of the tolerances of a graph's nodes, relative to the magnitude of a result. 0 for a backend that declares no
 * tolerance, which must return the oracle's bits. Otherwise every rounding to a half dtype may be off by one ulp, too.
 */
export function graphBudget(manifest: BackendManifest, graph: Graph): number {
  let budget = 0;
  let roundings = 0;
  for (const node of graph.nodes) {
    for (const { dtype } of node.outputs) {
      if (!isComputeFloat(dtype)) continue;
      const unit = 2 ** -floatFormats[dtype].fractionBits;
      const { ulp } = manifestAllowance(manifest, node.op, dtype);
      budget += (dtype === "f32" ? ulp : Math.min(ulp, LOST_IN_A_HALF)) * unit;
      if (dtype !== "f32") roundings += unit;
    }
  }
  return budget === 0 ? 0 : SAFETY * (budget + roundings);
}

/** Compares with errors relative to the largest element of the tensor; integers and non-finite values exactly. */
export function compareAtScale(
  got: HostTensor | undefined,
  want: HostTensor,
  relative: number,
): Mismatch | undefined {
  const exact = { ulp: 0, floor: 0, signedZero: false, flushes: false };
  const strict = compareTensors(got, want, exact);
  if (strict === undefined || got === undefined || relative === 0 || !isComputeFloat(want.dtype))
    return strict;
  if (got.dtype !== want.dtype || !sameShape(got.shape, want.shape)) return strict;
  const [a, b] = [toNumbers(got), toNumbers(want)];
  const scale = b.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 0);
  const off = b.findIndex((x, at) => {
    const y = a[at] as number;
    if (!Number.isFinite(x) || !Number.isFinite(y)) return !Object.is(x, y);
    return !(Math.abs(x - y) <= relative * scale);
  });
  if (off < 0) return undefined;
  return `at ${off} is ${a[off]}, want ${b[off]} within ${relative * scale} (${relative} of the largest)`;
}
