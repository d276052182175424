import type { DType, HalfDType } from "../dtype.js";
import type { Op } from "../graph/attributes.js";
import type { GraphBuilder } from "../graph/build/builder.js";
import type { Graph, Value } from "../graph/graph.js";
import type { HostTensor } from "../host/host-tensor.js";
import type { Shape } from "../shape.js";
import type { ProbePair } from "./pair-key.js";
import { probeTable } from "./probe-table.js";

export type HalfPair = ProbePair & { readonly dtype: HalfDType };

/** A graph to run once, with its inputs. */
export interface ProbeGraph {
  readonly graph: Graph;
  readonly inputs: Readonly<Record<string, HostTensor>>;
}

/** The results by output name; a missing result counts as wrong. */
export type ProbeResults = Readonly<Record<string, HostTensor | undefined>>;

/**
 * Puts the nodes of `probeTable` into a graph, pair by pair.
 * @param make makes an operand; called once for each dtype and shape
 */
export function emitPairs(
  builder: GraphBuilder,
  pairs: readonly ProbePair[],
  make: (shape: Shape, dtype: DType) => Value,
  onResults: (pair: ProbePair, results: readonly Value[]) => void,
): void {
  const table = probeTable();
  const known = new Map<string, Value>();
  for (const pair of pairs) {
    const value = (shape: Shape, dtype: DType = pair.dtype): Value => {
      const key = `${dtype} ${shape.join()}`;
      const made = known.get(key) ?? make(shape, dtype);
      known.set(key, made);
      return made;
    };
    const emit = (...parts: Parameters<GraphBuilder["emit"]>): void =>
      onResults(pair, builder.emit(...parts));
    (table[pair.op] as (site: object, op: Op) => void)({ value, emit }, pair.op);
  }
}
