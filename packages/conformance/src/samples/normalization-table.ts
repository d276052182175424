/** Softmax and layer normalization. */
import {
  type DType,
  type HostTensor,
  type OpAttributes,
  type OpOf,
  type Shape,
  type SoftmaxOp,
  sameShape,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { type Draws, generate, hostData, randomData } from "../host-data.js";
import { type AxisSamples, alongEach } from "./axis-data.js";
import { farLayers, farShares } from "./far-rows.js";
import { gradient, positivePoint, spread, twice } from "./gradient-sample.js";
import type { GeneratedRow, OpTable, SizeRow } from "./op-row.js";
import { type OpSample, positives, type Sampled, sample } from "./op-sample.js";
import { setting } from "./setting.js";
import { balance, LONG, natural, ROWS, TALL, WIDE, whole } from "./size-data.js";
import { smallShares } from "./small-results.js";
import { formAt, lengths, setElements } from "./tail-data.js";

const INFINITE: number = Number.POSITIVE_INFINITY;

function softmaxValues<K extends SoftmaxOp>(): Sampled<K> {
  return (draws) => {
    const at = (axis: number, shape: Shape): OpSample<K> =>
      sample({ axis } as OpAttributes[K], randomData(draws, shape, -4, 4));
    const rows = (...data: readonly (readonly number[])[]): OpSample<K> =>
      sample(
        { axis: 1 } as OpAttributes[K],
        hostData(draws.dtype, data.flat(), [data.length, (data[0] ?? []).length]),
      );
    return {
      values: [
        at(0, [5]),
        at(1, [3, 7]),
        at(0, [3, 4]),
        at(1, [2, 3, 4]),
        at(2, [2, 3, 65]),
        at(0, [1]),
        at(1, [0, 3]),
      ],
      "nothing-overflows-on-the-way": [rows([1000, 1001, 999], [-1000, -1001, -1000], [60000, 0, -60000])],
      "masked-rows-and-nan": [
        rows([-INFINITE, 0, 1], [0, -INFINITE, -INFINITE], [0, Number.NaN, 1], [1, INFINITE, 0]),
        rows([-INFINITE, -INFINITE]),
      ],
    };
  };
}

/** A row with NaN, which must not reach the other row. */
function nanRow(dtype: DType) {
  return {
    "nan-in-a-row": [
      {
        attributes: { axis: 1, epsilon: 1e-5 },
        inputs: [hostData(dtype, [1, 2, 3, 1, Number.NaN, 3], [2, 3]), hostData(dtype, [1, 1, 1])],
      },
    ],
  };
}

type Along = readonly [shape: Shape, axis: number];

const ALONG: readonly ((length: number) => Along)[] = [
  (n) => [[n], 0],
  (n) => [[n, 3], 0],
  (n) => [[3, n], 0],
  (n) => [[2, n, 3], 1],
]; // biome-ignore format: one form a line

/** Scores whose first row ends with a number so large that exponentials overflow if the maximum leaves it out. */
function tailScores(draws: Draws, shape: Shape): HostTensor {
  const x = randomData(draws, shape, -4, 4);
  return shape[0] === 3 && shape.length === 2 ? setElements(x, 100, (shape[1] ?? 1) - 1) : x;
}

function softmaxTail<K extends SoftmaxOp>(): GeneratedRow<K> {
  return (draws) =>
    lengths(draws.dtype).flatMap((length) =>
      [[[3, length], 1] as const, formAt(ALONG, length)(length)].map(([shape, axis]) =>
        sample<K>({ axis } as OpAttributes[K], tailScores(draws, shape)),
      ),
    );
}

/** Shapes with one axis of the given length, and the first normalized axis. */
const PARTS: readonly ((length: number) => Along)[] = [
  (n) => [[3, n], 1],
  (n) => [[2, 3, n], 1],
  (n) => [[2, n, 3], 1],
  (n) => [[2, 2, n], 2],
  // Of three numbers some are nearly equal, and their variance is rounding.
  (n) => [[n, 5], 1],
]; // biome-ignore format: one form a line

/** Numbers whose exponentials are 1 and 0, so that all their sums are exact. */
const onesAndZeros = (shape: Shape): HostTensor => generate("f32", shape, (at) => (at % 5 < 2 ? 0 : -200));

function softmaxSizes<K extends SoftmaxOp>(): SizeRow<K> {
  const of = (axis: number, shape: Shape) => sample({ axis }, onesAndZeros(shape));
  const samples = () => [of(0, LONG), of(0, TALL), of(1, TALL), of(1, WIDE), of(1, ROWS)];
  return samples as unknown as SizeRow<K>;
}

function softmaxAxes<K extends SoftmaxOp>(): AxisSamples<K> {
  return (draws, shapes) => ({
    "every-axis": alongEach(shapes, (shape, axis) => [
      sample({ axis } as never, randomData(draws, shape, -4, 4)),
    ]),
  });
}

/** Scale shapes that broadcast to a shape: the same, a scalar, without the first axis, and with a last axis of 1. */
function scaleShapes(shape: Shape): readonly Shape[] {
  const all: readonly Shape[] = [shape, [], shape.slice(1), [...shape.slice(0, -1), 1]];
  return all.filter((one, at) => all.findIndex((other) => sameShape(one, other)) === at);
}

export const EPSILONS: readonly number[] = [1e-3, 0.1, 1, 1e-5];

export const near0 = (draws: Draws, shape: Shape): HostTensor => randomData(draws, shape, -0.05, 0.05);

const LARGE_ROWS: readonly (readonly [shape: Shape, part: Shape])[] = [
  [TALL, [18]],
  [WIDE, [4_134]],
  [ROWS, [2]],
  [[2, 33_002], [33_002]],
]; // biome-ignore format: one pair a line

type LayerOp = "LayerNormalization" | "RMSNormalization";

/** Random elements of `shape`, with a scale and possibly a bias of the shapes `parts`. */
const normalizeLayers = <K extends LayerOp>(
  draws: Draws,
  attributes: OpAttributes[K],
  shape: Shape,
  ...parts: readonly Shape[]
): OpSample<K> =>
  sample(attributes, randomData(draws, shape), ...parts.map((part) => randomData(draws, part, -0.75, 0.75)));

/** Layers normalized from each axis on, with every scale shape, and with a bias if the op has one. */
const layerAxes =
  <K extends LayerOp>(hasBias: boolean): AxisSamples<K> =>
  (draws, shapes) => ({
    "every-axis": alongEach(shapes, (shape, axis) =>
      scaleShapes(shape.slice(axis)).flatMap((part) =>
        (hasBias ? [[part], [part, shape.slice(axis)]] : [[part]]).map((parts) =>
          normalizeLayers(draws, { axis, epsilon: 1e-3 } as OpAttributes[K], shape, ...parts),
        ),
      ),
    ),
  });

const layerTails =
  <K extends LayerOp>(hasBias: boolean): GeneratedRow<K> =>
  (draws) =>
    lengths(draws.dtype).map((length, at) => {
      const [shape, axis] = formAt(PARTS, length)(length);
      const parts = new Array<Shape>(hasBias && at % 3 > 0 ? 2 : 1).fill(shape.slice(axis));
      return normalizeLayers(draws, { axis, epsilon: 1e-3 } as OpAttributes[K], shape, ...parts);
    });

export const normalizationTable: OpTable<OpOf<"normalization">> = {
  Softmax: {
    samples: softmaxValues(),
    tails: softmaxTail(),
    sizes: softmaxSizes(),
    axes: softmaxAxes(),
    gradients: twice([
      gradient("rows", [spread([3, 5])], (x) => ops.softmax(x)),
      gradient("columns", [spread([3, 5])], (x) => ops.softmax(x, 0)),
    ]),
    rare: [smallShares(), farShares()],
  },
  LogSoftmax: {
    samples: softmaxValues(),
    tails: softmaxTail(),
    sizes: softmaxSizes(),
    axes: softmaxAxes(),
    gradients: twice([gradient("rows", [spread([3, 5])], (x) => ops.logSoftmax(x))]),
    rare: [smallShares(), farShares()],
  },
  LayerNormalization: {
    samples: (draws) => {
      const one = (shape: Shape, axis: number, parts: readonly Shape[], epsilon = 1e-5) =>
        normalizeLayers<"LayerNormalization">(draws, { axis, epsilon }, shape, ...parts);
      return {
        values: [
          one([3, 8], 1, [[8]]),
          one([3, 8], 1, [[8], [8]]),
          one([2, 3, 4], 1, [
            [3, 4],
            [3, 4],
          ]),
          one([2, 3, 4], 2, [[4], [4]], 0.1),
          one([6], 0, [[6], [6]]),
          one([2, 65], 1, [[65], [65]]),
          one([2, 4], 1, [[1], [4]]),
        ],
        "constant-rows": [
          sample(
            { axis: 1, epsilon: 1e-5 },
            generate(draws.dtype, [2, 4], (at) => (at < 4 ? 3 : -100)),
            positives(draws, [4]),
          ),
        ],
        // The mean of no elements is NaN; without rows there is no mean.
        "no-elements": [
          one([0, 3], 1, [[3], [3]]),
          one([2, 0], 1, [[0]]),
          one([2, 0, 3], 1, [[1], [1]]),
          one([0], 0, [[0]]),
        ],
        ...nanRow(draws.dtype),
      };
    },
    tails: layerTails(true),
    sizes: () =>
      LARGE_ROWS.map(([shape, part]) =>
        sample({ axis: 1, epsilon: 1e-5 }, balance(shape, 1), natural(part), whole(part)),
      ),
    axes: layerAxes(true),
    options: () => [
      setting(
        "LayerNormalization",
        { axis: [1, 0, 2, 3], epsilon: EPSILONS },
        { bias: [false, true] },
        (attributes, { bias }, draws) => {
          const shape = [2, 3, 4, 5];
          const part = shape.slice(attributes.axis);
          return sample(
            attributes,
            near0(draws, shape),
            positives(draws, part),
            ...(bias ? [positives(draws, part)] : []),
          );
        },
      ),
    ],
    gradients: twice([
      gradient("scale-and-bias", [spread([3, 5]), positivePoint([5], 1), spread([5], 2)], (x, s, b) =>
        ops.layerNormalization(x, s, b),
      ),
      gradient("two-axes", [spread([2, 2, 3]), positivePoint([2, 3], 1)], (x, s) =>
        ops.layerNormalization(x, s, undefined, { axis: 1 }),
      ),
    ]),
    rare: [farLayers()],
  },
  RMSNormalization: {
    samples: (draws) => {
      const one = (shape: Shape, axis: number, part: Shape, epsilon = 1e-5) =>
        normalizeLayers<"RMSNormalization">(draws, { axis, epsilon }, shape, part);
      return {
        values: [
          one([3, 8], 1, [8]),
          one([2, 3, 4], 1, [3, 4]),
          one([2, 3, 4], 2, [4], 0.1),
          one([6], 0, [6]),
          one([2, 65], 1, [65]),
          one([2, 4], 1, [1]),
        ],
        "rows-of-zeros": [
          sample(
            { axis: 1, epsilon: 1e-5 },
            generate(draws.dtype, [2, 4], () => 0),
            positives(draws, [4]),
          ),
        ],
        "no-elements": [one([0, 3], 1, [3]), one([2, 0], 1, [0]), one([2, 0, 3], 1, [1]), one([0], 0, [0])],
        ...nanRow(draws.dtype),
      };
    },
    tails: layerTails(false),
    sizes: () =>
      LARGE_ROWS.map(([shape, part]) => sample({ axis: 1, epsilon: 1e-5 }, natural(shape), natural(part))),
    axes: layerAxes(false),
    options: () => [
      setting("RMSNormalization", { axis: [1, 0, 2, 3], epsilon: EPSILONS }, {}, (attributes, _, draws) => {
        const shape = [2, 3, 4, 5];
        return sample(attributes, near0(draws, shape), positives(draws, shape.slice(attributes.axis)));
      }),
    ],
    gradients: twice([
      gradient("scale", [spread([3, 5]), positivePoint([5], 1)], (x, s) => ops.rmsNormalization(x, s)),
    ]),
    rare: [farLayers()],
  },
};
