import { type HalfPair, opsThatF32Fixes, type ProbePair, pairKey } from "@mp/core/backend";
import { type ComputeDType, isHalf } from "@mp/core/graph";
import { emulatedAmong } from "../dtype.js";
import type { NativeRuntime } from "../native/index.js";
import type { Target } from "../target.js";
import { blockSize } from "./probe-blocks.js";
import { castsThroughDoubles } from "./probe-casts.js";
import { nativeHalves } from "./probe-halves.js";
import { type Missing, pairsFor, probeKernels } from "./probe-kernels.js";
import { nonFiniteProblem } from "./probe-non-finite.js";
import { type HalfSum, narrowSums } from "./probe-sums.js";
import { runGraph } from "./run-once.js";

/** What the probe found that an engine does. */
export interface Findings {
  readonly nativeHalves: Target["emulated"];
  readonly missing: Missing;
  /** The ops in native halves that are computed in f32 and rounded, by `pairKey`. */
  readonly widened: Target["widened"];
  /** Sums that accumulate in a native half, even in their lowered form. */
  readonly narrowSums: readonly HalfSum[];
  /** Channels that its blocked convolutions keep together; undefined where it has none. */
  readonly blockSize: number | undefined;
  readonly castsThroughDoubles: boolean;
  /** How its convolutions of infinities and NaN differ from IEEE 754; undefined where they do not. */
  readonly nonFinite: string | undefined;
}

/** By library and device: an engine does not change while a process runs. */
const known = new WeakMap<NativeRuntime["library"], Map<NativeRuntime["device"], Promise<Findings>>>();

/** Probes what the engine computes, once per process. */
export function probeEngine(runtime: NativeRuntime): Promise<Findings> {
  const { library, device } = runtime;
  const ofLibrary = known.get(library) ?? new Map<NativeRuntime["device"], Promise<Findings>>();
  known.set(library, ofLibrary);
  const findings = ofLibrary.get(device) ?? probe(runtime);
  ofLibrary.set(device, findings);
  // A failure belongs to the runtime that asked; the next one probes again.
  findings.catch(() => ofLibrary.delete(device));
  return findings;
}

async function probe(runtime: NativeRuntime): Promise<Findings> {
  const native = await nativeHalves(runtime);
  const blocks = await blockSize(runtime);
  const bare: Target = {
    device: runtime.device,
    emulated: emulatedAmong(native),
    widened: new Set(),
    blockSize: blocks,
    castsThroughDoubles: false,
  };
  const plain: Target = { ...bare, castsThroughDoubles: await castsThroughDoubles(runtime, bare) };
  const pairs = pairsFor(plain);
  const lacking = await probeKernels(runtime, plain, pairs);
  const isLacking = ({ op, dtype }: ProbePair): boolean => lacking.get(op)?.has(dtype) === true;
  const [inHalves, others] = [pairs.filter(isComputedHalf), pairs.filter((pair) => !isComputedHalf(pair))];
  const inexact = await opsThatF32Fixes(
    inHalves.filter((pair) => !isLacking(pair)),
    ({ graph, inputs }, widened) => runGraph(runtime, graph, { ...plain, widened }, inputs),
  );
  // An op without a kernel in a half may have one in f32.
  const retried = inHalves.filter(isLacking);
  const rounded = widening(plain, [...inexact, ...retried.map(pairKey)]);
  const still = retried.length === 0 ? new Map() : await probeKernels(runtime, rounded, retried);
  const missing = bothMissing(lacking, others.filter(isLacking), still);
  const sums = (target: Target): Promise<Findings["narrowSums"]> =>
    narrowSums(runtime, target, native, ({ op, dtype }) => missing.get(op)?.has(dtype) !== true);
  const narrow = await sums(rounded);
  const target = widening(
    rounded,
    narrow.map((pair) => pairKey(pair)),
  );
  const convolved: readonly ComputeDType[] = ["f32", ...native];
  return {
    nativeHalves: native,
    missing,
    widened: target.widened,
    narrowSums: narrow.length === 0 ? narrow : await sums(target),
    blockSize: blocks,
    castsThroughDoubles: plain.castsThroughDoubles,
    nonFinite: await nonFiniteProblem(runtime, target, convolved),
  };
}

const widening = (target: Target, keys: readonly string[]): Target => ({
  ...target,
  widened: new Set([...target.widened, ...keys]),
});

/** A half that can be carried at all is carried by these: they round nothing, so widening does not help. */
const CARRYING: readonly ProbePair["op"][] = ["Constant", "Cast", "Identity"];

const isComputedHalf = (pair: ProbePair): pair is HalfPair =>
  isHalf(pair.dtype) && !CARRYING.includes(pair.op);

/** `still`, and those pairs that are in `lacking`. */
function bothMissing(lacking: Missing, pairs: readonly ProbePair[], still: Missing): Missing {
  const missing = new Map([...still].map(([op, reasons]) => [op, new Map(reasons)]));
  for (const { op, dtype } of pairs) {
    const reason = lacking.get(op)?.get(dtype) ?? "";
    missing.set(op, (missing.get(op) ?? new Map()).set(dtype, reason));
  }
  return missing;
}
