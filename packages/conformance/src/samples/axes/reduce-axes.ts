/** Reductions over every set of axes; searches and running sums along every axis. */

import type { DType, HostTensor, Shape } from "@mp/core";
import { type ArgOp, isFloat, type OpOf, REDUCE_OPS, type ReduceOp, rowsOf } from "@mp/core/graph";
import { generated } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import {
  type Behaviours,
  distinct,
  type OpRow,
  type OpRows,
  positives,
  smallIntegers,
} from "../op-sample.js";
import { alongEach, SHAPES, subsets } from "./axis-row.js";

type Draw = (random: RandomSource, dtype: DType, shape: Shape) => HostTensor;

/** Factors whose products are exact, and neither vanish nor overflow. */
const factors: Draw = (random, dtype, shape) =>
  generated(dtype, shape, () => {
    const size = random.next() < 0.9 ? 1 : isFloat(dtype) && random.next() < 0.5 ? 0.5 : 2;
    return dtype === "u8" || dtype === "u64" || random.next() < 0.5 ? size : -size;
  });

const flags = [false, true];

function reduction<K extends ReduceOp>(draw: Draw, isExact: boolean): OpRow<K> {
  return {
    samples: (dtype, random) => {
      const data = isFloat(dtype) || draw === factors ? draw : smallIntegers;
      const samples = SHAPES.flatMap((shape) =>
        subsets(shape.length).flatMap((axes, index) =>
          // With five axes each set has one of the two.
          flags
            .filter((keepdims) => shape.length < 5 || keepdims === (index % 2 === 0))
            .map((keepdims) => ({
              attributes: { axes, keepdims },
              inputs: [data(random, dtype, shape)],
              exact: isExact,
            })),
        ),
      );
      // One kind of attributes for all reductions.
      return { "every-set-of-axes": samples } as unknown as Behaviours<K>;
    },
  };
}

/** Elements that all differ, and many equal ones, of which the first is found. */
function search<K extends ArgOp>(): OpRow<K> {
  return {
    samples: (dtype, random) => ({
      "every-axis": alongEach((shape, axis) =>
        flags.flatMap((keepdims) =>
          [distinct, smallIntegers].map((draw) => ({
            attributes: { axis, keepdims },
            inputs: [draw(random, dtype, shape)],
          })),
        ),
      ),
    }),
  };
}

export const reduceAxes: OpRows<OpOf<"reduce">> = {
  ...rowsOf(REDUCE_OPS, () => reduction<never>(positives, false)),
  ReduceSum: reduction(smallIntegers, true),
  ReduceMax: reduction(distinct, true),
  ReduceMin: reduction(distinct, true),
  ReduceProd: reduction(factors, true),
  ReduceL1: reduction(smallIntegers, true),
  ReduceSumSquare: reduction(smallIntegers, true),
  ArgMax: search(),
  ArgMin: search(),
  TopK: {
    samples: (dtype, random) => ({
      "every-axis": alongEach((shape, axis) => {
        const size = shape[axis] ?? 1;
        const searches = [
          [1, distinct],
          [size - 1, smallIntegers],
          [size, distinct],
          [size, smallIntegers],
        ] as const;
        return flags.flatMap((largest) =>
          searches.map(([k, draw]) => ({
            attributes: { axis, k, largest },
            inputs: [draw(random, dtype, shape)],
          })),
        );
      }),
    }),
  },
  CumSum: {
    samples: (dtype, random) => ({
      "every-axis": alongEach((shape, axis) =>
        flags.flatMap((exclusive) =>
          flags.map((reverse) => ({
            attributes: { axis, exclusive, reverse },
            inputs: [smallIntegers(random, dtype, shape)],
            exact: true,
          })),
        ),
      ),
    }),
  },
};
