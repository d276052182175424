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
  type Value,
} from "@mp/core";
import { probeTable } from "@mp/core/backend";
import type { Pair } from "./pair.js";

/** One graph with a node or two of each pair, on inputs that are all ones, whose results are all returned. */
export function probeGraph(pairs: readonly Pair[]): {
  readonly graph: Graph;
  readonly inputs: Readonly<Record<string, HostTensor>>;
} {
  const builder = new GraphBuilder();
  const ones = new Map<string, Value>();
  const inputs: Record<string, HostTensor> = {};
  const results = new Map<string, Value>();
  for (const { op, dtype } of pairs) {
    const value = (shape: Shape, own: DType = dtype): Value => {
      const key = `${own} ${shape.join()}`;
      const known = ones.get(key) ?? builder.input(key, { dtype: own, shape }, "batch");
      ones.set(key, known);
      inputs[key] = onesOf(shape, own);
      return known;
    };
    const emit = (...parts: Parameters<GraphBuilder["emit"]>): void => {
      for (const result of builder.emit(...parts)) results.set(`r${results.size}`, result);
    };
    (probeTable[op] as (site: object, op: Op) => void)({ value, emit }, op);
  }
  return { graph: builder.finish(results), inputs };
}

/** All ones: zeros would divide by 0. */
function onesOf(shape: Shape, dtype: DType): HostTensor {
  const data = new hostArrayOf[dtype](elementCount(shape, "probe"));
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) data.fill(1n);
  else data.fill(isFloat(dtype) && dtype !== "f32" ? encode(dtype, 1) : 1);
  return { dtype, shape, data } as HostTensor;
}
