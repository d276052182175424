import { type DType, type HalfDType, isHalf } from "../dtype.js";
import { encodeArray } from "../float-format/bits.js";
import { roundTo } from "../float-format/round.js";
import { ulpDistance } from "../float-format/ulp.js";
import { ADDING_OPS } from "../graph/adding-ops.js";
import type { Op } from "../graph/attributes.js";
import { GraphBuilder } from "../graph/build/builder.js";
import type { Value } from "../graph/graph.js";
import { type HostTensor, ones, tensor } from "../host/host-tensor.js";
import { evaluate } from "../reference/index.js";
import { elementCount, type Shape } from "../shape.js";
import { type ProbePair, pairKey } from "./pair-key.js";
import { emitPairs, type HalfPair, type ProbeGraph, type ProbeResults } from "./probe-pairs.js";

/** Runs a graph. Nodes whose pair is in `widened` (by `pairKey`) are computed in f32 and rounded to the half dtype. */
export type RunWidened = (probe: ProbeGraph, widened: ReadonlySet<string>) => Promise<ProbeResults>;

/**
 * Finds the pairs with results that are more than an ulp off the reference, or not rounded to the half dtype, but
 * correct when computed in f32. Differences that f32 does not fix, such as the sign of a zero, are not included.
 */
export async function opsThatF32Fixes(
  pairs: readonly HalfPair[],
  run: RunWidened,
): Promise<ReadonlySet<string>> {
  const inexact = await inexactPairs(pairs, (probe) => run(probe, new Set()));
  if (inexact.size === 0) return inexact;
  const again = pairs.filter((pair) => inexact.has(pairKey(pair)));
  const still = await inexactPairs(again, (probe) => run(probe, inexact));
  return new Set([...inexact].filter((key) => !still.has(key)));
}

type Element = (index: number) => number;

/** Numbers that use all bits of a half dtype. */
const uneven: Element = (index) => 0.75 + Math.sin(index + 1) / 5;
const ofBothSigns: Element = (index) => 1.5 * Math.cos(1.7 * index + 2);
/** Numbers that kernels for half dtypes often get wrong. */
const special: Element = (index) =>
  [Number.NaN, 0, -0, -1.5, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY][index % 6] ?? 0;

/**
 * Finds pairs with inexact results. The engine's kernel for the half dtype may be inaccurate, or missing. The engine
 * then computes in f32 between casts, removes adjacent casts, and passes on values that were never rounded.
 */
async function inexactPairs(
  pairs: readonly HalfPair[],
  run: (probe: ProbeGraph) => Promise<ProbeResults>,
): Promise<ReadonlySet<string>> {
  // Sums with terms of both signs may cancel; they are probed separately.
  const alone = pairs.filter(({ op }) => !(ADDING_OPS as readonly Op[]).includes(op));
  const inexact = new Set<string>();
  for (const [some, element] of [
    [pairs, uneven],
    [alone, ofBothSigns],
    [alone, special],
  ] as const) {
    if (some.length === 0) continue;
    const { graph, inputs, pairOf } = roundingGraph(some, element);
    const want = evaluate(graph, inputs);
    const got = await run({ graph, inputs });
    for (const [name, pair] of pairOf)
      if (!isExact(pair.dtype, got[name], want[name])) inexact.add(pairKey(pair));
  }
  return inexact;
}

/** A graph with the results of each pair, cast to f32. */
function roundingGraph(
  pairs: readonly HalfPair[],
  element: Element,
): ProbeGraph & { readonly pairOf: ReadonlyMap<string, HalfPair> } {
  const builder = new GraphBuilder();
  const inputs: Record<string, HostTensor> = {};
  const results = new Map<string, Value>();
  const pairOf = new Map<string, HalfPair>();
  const make = (shape: Shape, dtype: DType): Value => {
    const name = `x${Object.keys(inputs).length}`;
    inputs[name] = isHalf(dtype) ? fillTensor(shape, dtype, element) : ones(shape, dtype);
    return builder.input(name, { dtype, shape }, "batch");
  };
  emitPairs(builder, pairs, make, (pair: ProbePair, made) => {
    for (const value of made) {
      const name = `y${results.size}`;
      const seen = value.dtype === pair.dtype ? builder.emitOne("Cast", [value], { to: "f32" }) : value;
      results.set(name, seen);
      pairOf.set(name, pair as HalfPair);
    }
  });
  return { graph: builder.finish(results), inputs, pairOf };
}

function fillTensor(shape: Shape, dtype: HalfDType, element: Element): HostTensor {
  const numbers = Float32Array.from({ length: elementCount(shape, "probe") }, (_, index) => element(index));
  return tensor(encodeArray(dtype, numbers), shape, dtype);
}

/** Whether each result is within one ulp of the half dtype from `want`, and exact in that dtype wherever `want` is. */
function isExact(half: HalfDType, got: HostTensor | undefined, want: HostTensor | undefined): boolean {
  if (got === undefined || want === undefined || got.dtype !== "f32") return got !== undefined;
  return Array.from(want.data as Float32Array).every((wanted, index) => {
    const given = Number(got.data[index]);
    if (wanted === 0 || given === 0) return Object.is(wanted, given);
    const isRounded = Object.is(roundTo(half, wanted), wanted) === Object.is(roundTo(half, given), given);
    return isRounded && ulpDistance(half, given, wanted) <= 1;
  });
}
