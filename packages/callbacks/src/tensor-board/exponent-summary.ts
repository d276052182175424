import { create } from "@bufbuild/protobuf";
import type { ExponentHistogram } from "@mp/core/report";
import { type HistogramProto, HistogramProtoSchema } from "../proto/event_pb.js";

/**
 * Converts counts by binary exponent to TensorBoard's histogram over log2 of the magnitude: the bucket from e to e + 1 has
 * the values from 2^e up to 2^(e+1). Leaves out zeros, infinities and NaN; undefined if nothing is left.
 */
export function exponentSummary({ first, counts }: ExponentHistogram): HistogramProto | undefined {
  const num = counts.reduce((sum, count) => sum + count, 0);
  if (num === 0) return undefined;
  const middle = (index: number): number => first + index + 0.5;
  return create(HistogramProtoSchema, {
    min: first,
    max: first + counts.length,
    num,
    sum: counts.reduce((sum, count, index) => sum + count * middle(index), 0),
    sumSquares: counts.reduce((sum, count, index) => sum + count * middle(index) ** 2, 0),
    // TensorBoard takes the first bucket to begin at `min`.
    bucketLimit: counts.map((_, index) => first + index + 1),
    bucket: [...counts],
  });
}
