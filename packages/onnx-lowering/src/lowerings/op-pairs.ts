import { type DType, OPS, type Op, opDTypes, opTable } from "@mp/graph";
import { pairKey } from "@mp/graph/backend";
import type { ProbePair } from "@mp/graph/probe";

/** Every op in each of its dtypes. Composite ops are left out: engines get them expanded. */
export const opPairs: readonly ProbePair[] = OPS.filter((op) => opTable[op].parts === undefined).flatMap(
  (op) => opDTypes[op].map((dtype) => ({ op, dtype })),
);

export const pairKeys = (dtypes: readonly DType[], ops: readonly Op[]): readonly string[] =>
  dtypes.flatMap((dtype) => ops.map((op) => pairKey({ op, dtype })));

/** Reasons not to compute a pair, by `pairKey`; pairs without a reason are left out. */
export const reasonsByPair = (
  reasonFor: (pair: ProbePair) => string | undefined,
): ReadonlyMap<string, string> =>
  new Map(
    opPairs.flatMap((pair) => {
      const reason = reasonFor(pair);
      return reason === undefined ? [] : [[pairKey(pair), reason] as const];
    }),
  );
