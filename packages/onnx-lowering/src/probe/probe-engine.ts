import { type ComputeDType, isHalf } from "@mp/graph";
import { pairKey } from "@mp/graph/backend";
import * as probes from "@mp/graph/probe";
import { rulesFor } from "../device-rules.js";
import { emulatedHalves } from "../dtype.js";
import type { Target } from "../lowerings/target.js";
import type { ProbedEngine } from "./engine.js";
import { type Findings, knownFindings, refusedPairs } from "./findings.js";
import { blockSize } from "./probe-blocks.js";
import { castsThroughDoubles } from "./probe-casts.js";
import { findDifferences } from "./probe-differences.js";
import { nativeHalves } from "./probe-halves.js";
import { type Missing, pairsFor, probeKernels } from "./probe-kernels.js";
import { narrowSums } from "./probe-sums.js";
import { runGraph } from "./run-graph.js";

/**
 * Finds out what the engine computes; probes only what is not listed for its version. An engine does not
 * change while a process runs, so one call per process is enough.
 */
export async function probeEngine(engine: ProbedEngine): Promise<Findings> {
  const native = engine.products ?? (await nativeHalves(engine));
  const differences = engine.products === undefined ? undefined : await findDifferences(engine, native);
  const rules = rulesFor({ device: engine.device, differences });
  const refused = rules.refused(native);
  const emulated = emulatedHalves(native).filter((half) => refused[half] === undefined);
  const known = knownFindings(engine, native);
  if (known !== undefined) return known;
  const blocks = await blockSize(engine);
  const bare: Target = {
    device: engine.device,
    emulated,
    widened: rules.widened(native),
    blockSize: blocks,
    castsThroughDoubles: false,
    differences,
  };
  const plain: Target = { ...bare, castsThroughDoubles: await castsThroughDoubles(engine, bare) };
  const pairs = pairsFor(plain).filter(({ dtype }) => refused[dtype] === undefined);
  const lacking = await probeKernels(engine, plain, pairs, refused);
  const isLacking = (pair: probes.ProbePair): boolean => lacking.has(pairKey(pair));
  const [inHalves, others] = [pairs.filter(isComputedHalf), pairs.filter((pair) => !isComputedHalf(pair))];
  const inexact = await probes.opsThatF32Fixes(
    inHalves.filter((pair) => !isLacking(pair)),
    ({ graph, inputs }, widened) => runGraph(engine, graph, { ...plain, widened }, inputs),
  );
  // An op without a kernel for a half dtype may have one for f32.
  const retried = inHalves.filter(isLacking);
  const rounded = widening(plain, [...inexact, ...retried.map(pairKey)]);
  const still =
    retried.length === 0 ? new Map<string, string>() : await probeKernels(engine, rounded, retried, refused);
  const unfixed = others.filter(isLacking).map(pairKey);
  const missing: Missing = new Map([
    ...refusedPairs(refused),
    ...(differences?.inexact ?? []),
    ...still,
    ...unfixed.map((key) => [key, lacking.get(key) ?? ""] as const),
  ]);
  const sums = (target: Target): Promise<Findings["narrowSums"]> =>
    narrowSums(engine, target, native, (pair) => !missing.has(pairKey(pair)));
  const narrow = await sums(rounded);
  const target = widening(rounded, narrow.map(pairKey));
  const convolved: readonly ComputeDType[] = ["f32", ...native];
  return {
    device: engine.device,
    emulated,
    missing,
    widened: target.widened,
    narrowSums: narrow.length === 0 ? narrow : await sums(target),
    blockSize: blocks,
    castsThroughDoubles: plain.castsThroughDoubles,
    differences,
    nonFinite: await probes.nonFiniteProblem(convolved, ({ graph, inputs }) =>
      runGraph(engine, graph, target, inputs),
    ),
  };
}

const widening = (target: Target, keys: readonly string[]): Target => ({
  ...target,
  widened: new Set([...target.widened, ...keys]),
});

/** Ops without which a half dtype is unusable. They round nothing, so widening them to f32 would not help. */
const CARRYING: readonly probes.ProbePair["op"][] = ["Constant", "Cast", "Identity"];

const isComputedHalf = (pair: probes.ProbePair): pair is probes.HalfPair =>
  isHalf(pair.dtype) && !CARRYING.includes(pair.op);
