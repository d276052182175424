/** Loops whose bodies only move values, so that every dtype has them and every bit is compared. */
import type { DType, Shape } from "@mp/core";
import { type Graph, GraphBuilder, type OpAttributes, type OpOf, type Value } from "@mp/core/graph";
import { counted, type OpRows, type OpSample, sample } from "./op-sample.js";

type Attributes = OpAttributes["Scan"];

interface LoopParts {
  readonly dtype: DType;
  readonly carries?: readonly Shape[];
  /** Shapes of the elements. */
  readonly sequences?: readonly Shape[];
  readonly invariants?: readonly Shape[];
  readonly length?: number;
  readonly reverse?: boolean;
  readonly step: (builder: GraphBuilder, inputs: readonly Value[]) => readonly Value[];
}

/** A loop on distinguishable data. */
export function loop({
  dtype,
  carries = [],
  sequences = [],
  invariants = [],
  length = 4,
  reverse = false,
  step,
}: LoopParts): OpSample<"Scan"> {
  const builder = new GraphBuilder();
  const shapes = [...carries, ...sequences, ...invariants];
  const inputs = shapes.map((shape, index) => builder.input(`x${index}`, { dtype, shape }, "capture"));
  const outputs = step(builder, inputs);
  const body: Graph = builder.finish(new Map(outputs.map((value, index) => [`y${index}`, value])));
  const attributes: Attributes = {
    body,
    carries: carries.length,
    sequences: sequences.length,
    length,
    reverse,
    saved: 0,
  };
  const given = [...carries, ...sequences.map((shape) => [length, ...shape]), ...invariants];
  return sample(attributes, ...given.map((shape, index) => counted(dtype, shape, 5 * index)));
}

/** Delays by two elements: two carries, of which one moves to the other. */
const delayed = (dtype: DType, shape: Shape, length: number, reverse: boolean): OpSample<"Scan"> =>
  loop({
    dtype,
    carries: [shape, shape],
    sequences: [shape],
    length,
    reverse,
    step: (builder, [first, second, element]) => [
      builder.emitOne("Identity", [second as Value], {}),
      builder.emitOne("Identity", [element as Value], {}),
      builder.emitOne("Identity", [first as Value], {}),
    ],
  });

const directions = [false, true];

export const loopSamples: OpRows<OpOf<"loop">> = {
  Scan: {
    samples: (dtype) => ({
      values: directions.flatMap((reverse) => [
        delayed(dtype, [3], 5, reverse),
        delayed(dtype, [2, 3], 2, reverse),
        delayed(dtype, [], 4, reverse),
        delayed(dtype, [1031], 3, reverse),
      ]),
      "one-step": directions.map((reverse) => delayed(dtype, [3], 1, reverse)),
      "no-elements": directions.map((reverse) => delayed(dtype, [2, 0], 3, reverse)),
      "passed-through": directions.map((reverse) =>
        loop({
          dtype,
          carries: [[2], [2]],
          sequences: [[2]],
          invariants: [[2]],
          reverse,
          // The carries change places; all of them, the element and the invariant are results, some of them twice.
          step: (_, [a, b, element, weight]) =>
            [b, a, a, element, weight, weight, b, element] as readonly Value[],
        }),
      ),
      "no-sequences": directions.map((reverse) =>
        loop({
          dtype,
          carries: [[3]],
          length: 5,
          reverse,
          step: (builder, [carry]) => {
            const turned = builder.emitOne(
              "Concat",
              [1, 0].map((start) =>
                builder.emitOne("Slice", [carry as Value], {
                  axes: [0],
                  starts: [start],
                  ends: [start === 1 ? 3 : 1],
                  steps: [1],
                }),
              ),
              { axis: 0 },
            );
            return [turned, carry as Value];
          },
        }),
      ),
      "no-carries": directions.map((reverse) =>
        loop({
          dtype,
          sequences: [[2, 3], [2]],
          invariants: [[3]],
          reverse,
          step: (builder, [matrix, vector, row]) => [
            builder.emitOne("Transpose", [matrix as Value], { perm: [1, 0] }),
            vector as Value,
            builder.emitOne("Expand", [row as Value], { shape: [2, 3] }),
          ],
        }),
      ),
      "no-results": [
        loop({
          dtype,
          carries: [[2]],
          sequences: [[2]],
          step: (builder, [, element]) => [builder.emitOne("Identity", [element as Value], {})],
        }),
      ],
    }),
  },
};
