/** NaN at every position in reductions over two axes: adjacent or not, first, middle and last. */

import {
  type ComputeDType,
  GraphBuilder,
  type HostTensor,
  isComputeFloat,
  opDTypes,
  REDUCE_OPS,
  type ReduceOp,
  type Shape,
  type Value,
} from "@mp/graph";
import { manifestAllowance } from "../../compare/allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { generate } from "../../host-data.js";
import { graphCase } from "../kinds/graph-case.js";

const BLOCK: Shape = [3, 4, 5];
const SIZE = 60;

/** Block k has NaN at position k; there is one block per position, and a last one without NaN. */
function blocks(dtype: ComputeDType): HostTensor {
  return generate(dtype, [SIZE + 1, ...BLOCK], (at) => {
    const [block, place] = [Math.floor(at / SIZE), at % SIZE];
    return place === block ? Number.NaN : 0.5 + ((block + 3 * place) % 8) / 8;
  });
}

/** Like `blocks`, with the blocks along the last axis. */
function interleave(dtype: ComputeDType): HostTensor {
  const count = SIZE + 1;
  return generate(dtype, [...BLOCK, count], (at) => {
    const [place, block] = [Math.floor(at / count), at % count];
    return place === block ? Number.NaN : 0.5 + ((block + 3 * place) % 8) / 8;
  });
}

const PAIRS: readonly (readonly number[])[] = [[0, 1], [1, 2], [0, 2]]; // biome-ignore format: one line

function planeCase(op: ReduceOp, dtype: ComputeDType): ConformanceCase {
  return graphCase(`rare/${op}-${dtype}/nan-in-two-axes`, () => {
    const builder = new GraphBuilder();
    const inputs = { blocks: blocks(dtype), interleaved: interleave(dtype) };
    const outputs: Record<string, Value> = {};
    const fold = (name: keyof typeof inputs, first: number): void => {
      const x = builder.input(name, inputs[name], "batch");
      for (const pair of PAIRS) {
        const axes = pair.map((axis) => axis + first);
        outputs[`${name} along ${axes.join(" and ")}`] = builder.emitOne(op, [x], { axes, keepdims: false });
      }
    };
    fold("blocks", 1);
    fold("interleaved", 0);
    return {
      graph: builder.finish(outputs),
      inputs,
      allowance: (manifest) => manifestAllowance(manifest, op, dtype),
      describe: (output) => `${op} of ${output}`,
    };
  });
}

export const planeCases: readonly ConformanceCase[] = REDUCE_OPS.flatMap((op) =>
  opDTypes[op].filter(isComputeFloat).map((dtype) => planeCase(op, dtype)),
);
