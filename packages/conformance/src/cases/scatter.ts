/** Scatters into zeros that are part of the graph, as in gradients of gathers. An engine may never allocate them. */

import {
  type DType,
  formatShape,
  GraphBuilder,
  type HostTensor,
  type OpAttributes,
  type ScatterOp,
  type ScatterReduction,
  type Shape,
  type Value,
} from "@mp/graph";
import { EXACT } from "../compare/allowance.js";
import type { ConformanceCase } from "../conformance-case.js";
import { hostData } from "../host-data.js";
import { countUp } from "../samples/op-sample.js";
import { graphCase } from "./kinds/graph-case.js";

const DTYPES: readonly DType[] = ["f32", "f16", "bf16", "i32"];
const REDUCTIONS: readonly ScatterReduction[] = ["none", "add", "mul", "max", "min"];

interface Places {
  readonly zeros: Shape;
  readonly indices: Shape;
  readonly values: readonly number[];
  readonly axis: number;
}

/** Shapes with axes before and after the scattered axis, axes of size 1, and indices with one row or none. */
const ELEMENTS: readonly Places[] = [
  { zeros: [4], indices: [3], values: [1, -1, 0], axis: 0 },
  { zeros: [2, 3], indices: [2, 2], values: [2, 0, -2, 2], axis: 1 },
  { zeros: [2, 3, 2, 2], indices: [2, 1, 2, 2], values: [0, 2, -1, 1, 1, 2, 0, 0], axis: 1 },
  { zeros: [3, 1, 4], indices: [1, 1, 4], values: [0, -1, 1, 2], axis: 0 },
  { zeros: [1, 5, 1], indices: [1, 2, 1], values: [4, -5], axis: 1 },
  { zeros: [2, 3, 4], indices: [1, 2, 2], values: [2, 0, 1, -1], axis: 2 },
];

const ROWS: readonly Places[] = [
  { zeros: [4], indices: [1], values: [-2], axis: 0 },
  { zeros: [3, 2], indices: [2], values: [2, -1], axis: 0 },
  { zeros: [3, 2], indices: [2, 1], values: [2, 0], axis: 0 },
  { zeros: [2, 3, 2], indices: [2, 1, 2], values: [1, 2, 0, 0], axis: 0 },
];

interface Form<K extends ScatterOp> {
  readonly places: readonly Places[];
  readonly updates: (places: Places) => Shape;
  readonly attributes: (places: Places, reduction: ScatterReduction) => OpAttributes[K];
}

const forms: { readonly [K in ScatterOp]: Form<K> } = {
  ScatterElements: {
    places: ELEMENTS,
    updates: ({ indices }) => indices,
    attributes: ({ axis }, reduction) => ({ axis, reduction }),
  },
  ScatterND: {
    places: ROWS,
    updates: ({ zeros, indices }) => [...indices.slice(0, -1), ...zeros.slice(indices.at(-1))],
    attributes: (_, reduction) => ({ reduction }),
  },
};

function intoZeros<K extends ScatterOp>(op: K, dtype: DType): ConformanceCase {
  const { places, updates, attributes } = forms[op];
  return graphCase(`op/${op}-${dtype}/into-zeros-of-the-graph`, () => {
    const builder = new GraphBuilder();
    const inputs: Record<string, HostTensor> = {};
    const outputs: Record<string, Value> = {};
    const fed = (name: string, tensor: HostTensor): Value => {
      inputs[name] = tensor;
      return builder.input(name, { dtype: tensor.dtype, shape: tensor.shape }, "batch");
    };
    places.forEach((place, index) => {
      const zeros = builder.emitOne("Expand", [builder.literal(0, dtype)], { shape: place.zeros });
      const at = fed(`indices${index}`, hostData("i32", place.values, place.indices));
      const from = fed(`updates${index}`, countUp(dtype, updates(place), index));
      for (const reduction of REDUCTIONS) {
        const name = `${reduction} into ${formatShape(place.zeros)} by indices ${formatShape(place.indices)}`;
        outputs[name] = builder.emitOne(op, [zeros, at, from], attributes(place, reduction));
      }
    });
    return {
      graph: builder.finish(outputs),
      inputs,
      allowance: () => ({ ...EXACT, signedZero: false }),
      describe: (output) => `${op} ${output}`,
    };
  });
}

/** Number of rows that the gradient of an embedding adds up, and number of rows that it adds them to. */
const ROWS_ADDED = 16_384;
const ROWS_THERE = 61;
const WIDTH = 48;

/** Adds so many rows that an engine splits them among threads and may lose some. All sums are exact in f32. */
function manyRepeatedRows(): ConformanceCase {
  return graphCase("op/ScatterND-f32/many-repeated-rows", () => {
    const builder = new GraphBuilder();
    const zeros = builder.emitOne("Expand", [builder.literal(0, "f32")], { shape: [ROWS_THERE, WIDTH] });
    const places = Array.from({ length: ROWS_ADDED }, (_, row) => (row * 7) % ROWS_THERE);
    const inputs = {
      indices: hostData("i32", places, [ROWS_ADDED, 1]),
      updates: countUp("f32", [ROWS_ADDED, WIDTH]),
    };
    const [indices, updates] = Object.entries(inputs).map(([name, { dtype, shape }]) =>
      builder.input(name, { dtype, shape }, "batch"),
    ) as [Value, Value];
    const sums = builder.emitOne("ScatterND", [zeros, indices, updates], { reduction: "add" });
    return {
      graph: builder.finish({ sums }),
      inputs,
      allowance: () => ({ ...EXACT, signedZero: false }),
      describe: (output) => `ScatterND of ${ROWS_ADDED} rows into ${ROWS_THERE}: ${output}`,
    };
  });
}

export const scatterCases: readonly ConformanceCase[] = [
  ...DTYPES.flatMap((dtype) => [intoZeros("ScatterElements", dtype), intoZeros("ScatterND", dtype)]),
  manyRepeatedRows(),
];
