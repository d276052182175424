import { probes } from "@mp/core/backend";
import { type ComputeDType, isHalf } from "@mp/core/graph";
import { emulatedAmong } from "../dtype.js";
import type { NativeRuntime } from "../native/index.js";
import type { Target } from "../target.js";
import { blockSize } from "./probe-blocks.js";
import { castsThroughDoubles } from "./probe-casts.js";
import { nativeHalves } from "./probe-halves.js";
import { type Missing, pairsFor, probeKernels } from "./probe-kernels.js";
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
  const isLacking = (pair: probes.ProbePair): boolean => lacking.has(probes.pairKey(pair));
  const [inHalves, others] = [pairs.filter(isComputedHalf), pairs.filter((pair) => !isComputedHalf(pair))];
  const inexact = await probes.opsThatF32Fixes(
    inHalves.filter((pair) => !isLacking(pair)),
    ({ graph, inputs }, widened) => runGraph(runtime, graph, { ...plain, widened }, inputs),
  );
  // An op without a kernel in a half may have one in f32.
  const retried = inHalves.filter(isLacking);
  const rounded = widening(plain, [...inexact, ...retried.map(probes.pairKey)]);
  const still =
    retried.length === 0 ? new Map<string, string>() : await probeKernels(runtime, rounded, retried);
  const unfixed = others.filter(isLacking).map(probes.pairKey);
  const missing: Missing = new Map([
    ...still,
    ...unfixed.map((key) => [key, lacking.get(key) ?? ""] as const),
  ]);
  const sums = (target: Target): Promise<Findings["narrowSums"]> =>
    narrowSums(runtime, target, native, (pair) => !missing.has(probes.pairKey(pair)));
  const narrow = await sums(rounded);
  const target = widening(rounded, narrow.map(probes.pairKey));
  const convolved: readonly ComputeDType[] = ["f32", ...native];
  return {
    nativeHalves: native,
    missing,
    widened: target.widened,
    narrowSums: narrow.length === 0 ? narrow : await sums(target),
    blockSize: blocks,
    castsThroughDoubles: plain.castsThroughDoubles,
    nonFinite: await probes.nonFiniteProblem(convolved, ({ graph, inputs }) =>
      runGraph(runtime, graph, target, inputs),
    ),
  };
}

const widening = (target: Target, keys: readonly string[]): Target => ({
  ...target,
  widened: new Set([...target.widened, ...keys]),
});

/** A half that can be carried at all is carried by these: they round nothing, so widening does not help. */
const CARRYING: readonly probes.ProbePair["op"][] = ["Constant", "Cast", "Identity"];

const isComputedHalf = (pair: probes.ProbePair): pair is probes.HalfPair =>
  isHalf(pair.dtype) && !CARRYING.includes(pair.op);
