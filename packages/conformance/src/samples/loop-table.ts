/** Loops whose bodies only move values, so that they work in every dtype and every bit is compared. */
import {
  type DType,
  type Graph,
  GraphBuilder,
  type HostTensor,
  type OpAttributes,
  type OpOf,
  remat,
  type Shape,
  type Tensor,
  type Value,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { anyElements } from "./axis-data.js";
import { gradient, spread } from "./gradient-sample.js";
import type { OpTable } from "./op-row.js";
import { countUp, type OpSample, sample } from "./op-sample.js";
import { setting } from "./setting.js";
import { counting, LONG, TALL } from "./size-data.js";
import { SIDES } from "./tail-data.js";

type Attributes = OpAttributes["Scan"];

interface LoopParts {
  readonly dtype: DType;
  readonly carries?: readonly Shape[];
  /** Shapes of the sequences' elements. */
  readonly sequences?: readonly Shape[];
  readonly invariants?: readonly Shape[];
  readonly length?: number;
  readonly reverse?: boolean;
  readonly step: (builder: GraphBuilder, inputs: readonly Value[]) => readonly Value[];
}

/** A loop on data whose elements are all different. */
function loop({
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
  // An object would sort these names.
  const names = outputs.map((_, index) => String(outputs.length - index));
  const body: Graph = builder.finish(new Map(outputs.map((value, index) => [names[index] as string, value])));
  const attributes: Attributes = {
    body,
    carries: carries.length,
    sequences: sequences.length,
    length,
    reverse,
    saved: 0,
  };
  const given = [...carries, ...sequences.map((shape) => [length, ...shape]), ...invariants];
  return sample(attributes, ...given.map((shape, index) => countUp(dtype, shape, 5 * index)));
}

/** Delays a sequence by two elements. Each element moves to the second carry, then to the first, then to the result. */
const delayTwice = (dtype: DType, shape: Shape, length: number, reverse: boolean): OpSample<"Scan"> =>
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

/** Delays a sequence by one element; the carry comes first. */
function delay(length: number, shape: readonly number[]) {
  const builder = new GraphBuilder();
  const type = { dtype: "f32" as const, shape };
  const [carry, element] = [builder.input("carry", type, "capture"), builder.input("x", type, "capture")];
  const body = builder.finish(
    new Map([
      ["carry", builder.emitOne("Identity", [element], {})],
      ["y", carry],
    ]),
  );
  return sample<"Scan">(
    { body, carries: 1, sequences: 1, length, reverse: false, saved: 0 },
    counting(shape, -1),
    counting([length, ...shape]),
  );
}

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
 * Each carry becomes the one before it, reversed. The first becomes an element of the first sequence or, without
 * sequences, the last carry reversed. All inputs of the body are stacked.
 */
function loopBody(dtype: DType, shape: Shape, carries: number, sequences: number, invariants: number): Graph {
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

/** A recurrence of a carry, a sequence and outer weights. Returns the last carry plus the sum of all results. */
const recurrence =
  (reverse: boolean, isKept: boolean) =>
  (h: Tensor, x: Tensor, w: Tensor): Tensor => {
    const step = (state: Tensor, element: Tensor) => {
      const next = ops.tanh(ops.add(ops.matMul(state, w), element));
      return [next, ops.mul(next, ops.sin(element))] as const;
    };
    const [last, all] = ops.scan(isKept ? step : remat(step), h, x, { reverse });
    return ops.add(last, ops.reduceSum(all, { axes: [0] }));
  };

const points = [spread([2, 3]), spread([4, 2, 3], 1), spread([3, 3], 2)] as const;

/** One dtype of each element size and kind. */
const OPTION_DTYPES: readonly DType[] = ["f32", "f16", "i64", "bool"];

export const loopTable: OpTable<OpOf<"loop">> = {
  Scan: {
    samples: ({ dtype }) => ({
      values: directions.flatMap((reverse) => [
        delayTwice(dtype, [3], 5, reverse),
        delayTwice(dtype, [2, 3], 2, reverse),
        delayTwice(dtype, [], 4, reverse),
        delayTwice(dtype, [1031], 3, reverse),
      ]),
      "one-step": directions.map((reverse) => delayTwice(dtype, [3], 1, reverse)),
      "no-elements": directions.map((reverse) => delayTwice(dtype, [2, 0], 3, reverse)),
      "passed-through": directions.map((reverse) =>
        loop({
          dtype,
          carries: [[2], [2], [0]],
          sequences: [[2]],
          invariants: [[2]],
          reverse,
          // The carries change places; all of them, the element and the invariant are results, some of them twice.
          step: (_, [a, b, none, element, weight]) =>
            [b, a, none, a, element, weight, weight, b, element] as readonly Value[],
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
    tails: ({ dtype }) =>
      // Delays by one element, of sequences that are wide or long.
      SIDES.map((size, at) => {
        const [width, length] = at % 2 === 0 ? [size, 3] : [3, size];
        return loop({
          dtype,
          carries: [[width]],
          sequences: [[width]],
          length,
          reverse: at % 4 < 2,
          step: (builder, [carry, element]) => [
            builder.emitOne("Identity", [element as Value], {}),
            builder.emitOne("Identity", [carry as Value], {}),
          ],
        });
      }),
    sizes: () => [delay(2, LONG), delay(TALL[0] as number, TALL.slice(1)), delay(66_002, [])],
    // The number of steps equals the numbers of rows and columns of an element.
    sides: ({ dtype }) =>
      [2, 3, 4].flatMap((n) =>
        [false, true].map((reverse) =>
          loop({
            dtype,
            carries: [[n, n]],
            sequences: [[n, n]],
            invariants: [[n, n]],
            length: n,
            reverse,
            step: (builder, [carry, element, invariant]) => [
              builder.emitOne("Transpose", [element as Value], { perm: [1, 0] }),
              builder.emitOne("Identity", [carry as Value], {}),
              builder.emitOne("Concat", [element as Value, invariant as Value], { axis: 1 }),
            ],
          }),
        ),
      ),
    options: (dtype) =>
      !OPTION_DTYPES.includes(dtype)
        ? []
        : [
            setting(
              "Scan",
              {
                // Follows from the other attributes.
                body: [EMPTY],
                carries: [1, 0, 2, 3],
                sequences: [1, 0, 2],
                length: [3, 1, 5],
                reverse: [false, true],
                // Only a gradient reads it.
                saved: [0, 1],
              },
              { shape: [[3], [], [2, 3], [3, 2, 2], [2, 3, 2, 2]], invariants: [0, 1, 2] },
              (attributes, { shape, invariants }, draws) => {
                const { carries, sequences, length } = attributes;
                if (carries + sequences + invariants === 0) return undefined;
                const draw = (of: Shape): HostTensor => anyElements(draws, of);
                const times = (count: number, of: Shape) => Array.from({ length: count }, () => draw(of));
                return sample(
                  { ...attributes, body: loopBody(dtype, shape, carries, sequences, invariants) },
                  ...times(carries, shape),
                  ...times(sequences, [length, ...shape]),
                  ...times(invariants, shape),
                );
              },
            ),
          ],
    gradients: [
      gradient("recurrence", points, recurrence(false, true)),
      gradient("recurrence-backwards", points, recurrence(true, true)),
      gradient("recomputed", points, recurrence(false, false)),
      gradient(
        "without-sequences",
        [spread([2, 2]), spread([2, 2], 1)],
        (h, w) =>
          ops.scan((state: Tensor) => [ops.matMul(state, w), state], h, [], {
            length: 3,
          })[1],
      ),
      gradient(
        "without-carries",
        [spread([3, 2]), spread([2], 1)],
        (x, w) =>
          ops.scan((_, element: Tensor) => [[], ops.sin(ops.mul(element, w))], [], x, {
            reverse: true,
          })[1],
      ),
      gradient(
        "nested",
        [spread([3]), spread([2, 3], 1)],
        (h, x) =>
          ops.scan(
            (state: Tensor, element: Tensor) => {
              const [inner] = ops.scan(
                (at: Tensor, again: Tensor) => [ops.sin(ops.add(ops.mul(at, again), element)), []],
                state,
                x,
              );
              return [inner, []];
            },
            h,
            x,
          )[0],
      ),
    ],
  },
};
