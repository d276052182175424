import {
  type DType,
  elementCount,
  encode,
  type Graph,
  GraphBuilder,
  type HostTensor,
  hostArrayOf,
  isFloat,
  type Op,
  type Shape,
} from "@mp/core";
import { probeTable } from "@mp/core/backend";

/** An op in a dtype of its deciding operand: what a manifest's `ops` is made of. */
export interface Pair {
  readonly op: Op;
  readonly dtype: DType;
}

/** One graph with a node or two of each pair, on constants. Nothing reads their results; a single one is returned. */
export function probeGraph(pairs: readonly Pair[]): Graph {
  const builder = new GraphBuilder();
  const ones = new Map<string, ReturnType<GraphBuilder["constant"]>>();
  const result = builder.literal(1, "f32");
  for (const { op, dtype } of pairs) {
    const value = (shape: Shape, own: DType = dtype) => {
      const key = `${own} ${shape.join()}`;
      const known = ones.get(key) ?? builder.constant(onesOf(shape, own));
      ones.set(key, known);
      return known;
    };
    (probeTable[op] as (site: object, op: Op) => void)({ value, emit: builder.emit.bind(builder) }, op);
  }
  return builder.finish({ result });
}

/** All ones: zeros would divide by 0. */
function onesOf(shape: Shape, dtype: DType): HostTensor {
  const data = new hostArrayOf[dtype](elementCount(shape, "probe"));
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) data.fill(1n);
  else data.fill(isFloat(dtype) && dtype !== "f32" ? encode(dtype, 1) : 1);
  return { dtype, shape, data } as HostTensor;
}
