/** Loops of any number of carries, sequences and invariants, whose bodies move elements. */
import type { DType, HostTensor, Shape } from "@mp/core";
import { type Graph, GraphBuilder, type Value } from "@mp/core/graph";
import { scattered } from "../axes/axis-row.js";
import { sample } from "../op-sample.js";
import { type OptionRows, setting } from "./setting.js";

const backwards = (builder: GraphBuilder, value: Value): Value => {
  const axes = value.shape.map((_, axis) => axis);
  return builder.emitOne("Slice", [value], {
    axes,
    starts: value.shape.map((size) => size - 1),
    ends: axes.map(() => -1),
    steps: axes.map(() => -1),
  });
};

/**
 * Each carry becomes the one before it, and the first an element of the first sequence, or the last carry backwards.
 * All that the body has is stacked.
 */
function bodyOf(dtype: DType, shape: Shape, carries: number, sequences: number, invariants: number): Graph {
  const builder = new GraphBuilder();
  const all = Array.from({ length: carries + sequences + invariants }, (_, index) =>
    builder.input(`x${index}`, { dtype, shape }, "capture"),
  );
  const turned = all.map((value) => backwards(builder, value));
  const first = sequences > 0 ? all[carries] : turned[carries - 1];
  const next = all.slice(0, carries).map((_, index) => (index === 0 ? first : turned[index - 1]) as Value);
  const outputs = [...next, ...all, ...turned.slice(carries)];
  return builder.finish(new Map(outputs.map((value, index) => [`y${index}`, value])));
}

const EMPTY: Graph = { inputs: [], nodes: [], outputs: [] };

export const loopOptions: OptionRows<"Scan"> = {
  Scan: {
    dtypes: ["f32", "f16", "i64", "bool"],
    settings: (dtype) => [
      setting(
        "Scan",
        {
          // Follows from the others.
          body: [EMPTY],
          carries: [1, 0, 2, 3],
          sequences: [1, 0, 2],
          length: [3, 1, 5],
          reverse: [false, true],
          // Only a gradient reads it.
          saved: [0, 1],
        },
        { shape: [[3], [], [2, 3], [3, 2, 2], [2, 3, 2, 2]], invariants: [0, 1, 2] },
        (attributes, { shape, invariants }, random) => {
          const { carries, sequences, length } = attributes;
          if (carries + sequences + invariants === 0) return undefined;
          const draw = (of: Shape): HostTensor => scattered(random, dtype, of);
          const times = (count: number, of: Shape) => Array.from({ length: count }, () => draw(of));
          return sample(
            { ...attributes, body: bodyOf(dtype, shape, carries, sequences, invariants) },
            ...times(carries, shape),
            ...times(sequences, [length, ...shape]),
            ...times(invariants, shape),
          );
        },
      ),
    ],
  },
};
