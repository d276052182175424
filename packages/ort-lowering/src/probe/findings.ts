import type { HalfDType } from "@mp/core";
import { probes } from "@mp/core/backend";
import { type ComputeDType, isHalf, type Op, opDTypes } from "@mp/core/graph";
import { deviceRules, type RefusedDTypes } from "../device-rules.js";
import { emulatedAmong } from "../dtype.js";
import type { Target } from "../target.js";
import type { ProbedEngine } from "./engine.js";
import { blockSize } from "./probe-blocks.js";
import { castsThroughDoubles } from "./probe-casts.js";
import { nativeHalves } from "./probe-halves.js";
import { type Missing, pairsFor, probeKernels } from "./probe-kernels.js";
import { type HalfSum, narrowSums } from "./probe-sums.js";
import { runGraph } from "./run-graph.js";

/** What the probe found that an engine does. */
export interface Findings {
  readonly device: Target["device"];
  /** Halves that are carried in f32 and rounded. */
  readonly emulated: Target["emulated"];
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

/** The engine that was probed, as lowering has to know it. */
export const targetOf = (findings: Findings): Target => ({
  device: findings.device,
  emulated: findings.emulated,
  widened: findings.widened,
  blockSize: findings.blockSize,
  castsThroughDoubles: findings.castsThroughDoubles,
});

/**
 * What the engine computes: probed, apart from what is known of its version. An engine does not change while a process
 * runs, so it need be asked only once.
 */
export async function probeEngine(engine: ProbedEngine): Promise<Findings> {
  const native = await nativeHalves(engine);
  const rules = deviceRules[engine.device];
  const refused = rules.refused(native);
  const emulated = emulatedAmong(native).filter((half) => refused[half] === undefined);
  const known = knownFindings(engine, native);
  if (known !== undefined) return known;
  const blocks = await blockSize(engine);
  const bare: Target = {
    device: engine.device,
    emulated,
    widened: rules.widened(native),
    blockSize: blocks,
    castsThroughDoubles: false,
  };
  const plain: Target = { ...bare, castsThroughDoubles: await castsThroughDoubles(engine, bare) };
  const pairs = pairsFor(plain).filter(({ dtype }) => refused[dtype] === undefined);
  const lacking = await probeKernels(engine, plain, pairs, refused);
  const isLacking = (pair: probes.ProbePair): boolean => lacking.has(probes.pairKey(pair));
  const [inHalves, others] = [pairs.filter(isComputedHalf), pairs.filter((pair) => !isComputedHalf(pair))];
  const inexact = await probes.opsThatF32Fixes(
    inHalves.filter((pair) => !isLacking(pair)),
    ({ graph, inputs }, widened) => runGraph(engine, graph, { ...plain, widened }, inputs),
  );
  // An op without a kernel in a half may have one in f32.
  const retried = inHalves.filter(isLacking);
  const rounded = widening(plain, [...inexact, ...retried.map(probes.pairKey)]);
  const still =
    retried.length === 0 ? new Map<string, string>() : await probeKernels(engine, rounded, retried, refused);
  const unfixed = others.filter(isLacking).map(probes.pairKey);
  const missing: Missing = new Map([
    ...refusedPairs(refused),
    ...still,
    ...unfixed.map((key) => [key, lacking.get(key) ?? ""] as const),
  ]);
  const sums = (target: Target): Promise<Findings["narrowSums"]> =>
    narrowSums(engine, target, native, (pair) => !missing.has(probes.pairKey(pair)));
  const narrow = await sums(rounded);
  const target = widening(rounded, narrow.map(probes.pairKey));
  const convolved: readonly ComputeDType[] = ["f32", ...native];
  return {
    device: engine.device,
    emulated,
    missing,
    widened: target.widened,
    narrowSums: narrow.length === 0 ? narrow : await sums(target),
    blockSize: blocks,
    castsThroughDoubles: plain.castsThroughDoubles,
    nonFinite: await probes.nonFiniteProblem(convolved, ({ graph, inputs }) =>
      runGraph(engine, graph, target, inputs),
    ),
  };
}

/**
 * What the probe would find of that version on the device, for an engine that computes in these halves; undefined where it
 * has to be probed.
 */
export function knownFindings(
  { device, version }: Pick<ProbedEngine, "device" | "version">,
  native: readonly HalfDType[],
): Findings | undefined {
  const rules = deviceRules[device];
  const known = rules.known(version, native);
  if (known === undefined) return undefined;
  const refused = rules.refused(native);
  return {
    ...known,
    device,
    emulated: emulatedAmong(native).filter((half) => refused[half] === undefined),
    missing: new Map([...refusedPairs(refused), ...known.missing]),
    blockSize: undefined,
    castsThroughDoubles: false,
  };
}

/** Every op in a dtype that is not used at all on the device. */
const refusedPairs = (refused: RefusedDTypes): Missing =>
  new Map(
    Object.entries(opDTypes).flatMap(([op, dtypes]) =>
      dtypes.flatMap((dtype) => {
        const reason = refused[dtype];
        return reason === undefined ? [] : [[probes.pairKey({ op: op as Op, dtype }), reason] as const];
      }),
    ),
  );

const widening = (target: Target, keys: readonly string[]): Target => ({
  ...target,
  widened: new Set([...target.widened, ...keys]),
});

/** A half that can be carried at all is carried by these: they round nothing, so widening does not help. */
const CARRYING: readonly probes.ProbePair["op"][] = ["Constant", "Cast", "Identity"];

const isComputedHalf = (pair: probes.ProbePair): pair is probes.HalfPair =>
  isHalf(pair.dtype) && !CARRYING.includes(pair.op);
