/** Shares along every axis, normalization from every axis on, and per channel at every rank. */
import type { Shape } from "@mp/core";
import { type OpOf, type SoftmaxOp, sameShape } from "@mp/core/graph";
import { randomData } from "../../host-data.js";
import { statisticsOf } from "../batch-normalization-samples.js";
import { type OpRow, type OpRows, positives } from "../op-sample.js";
import { alongEach, SHAPES } from "./axis-row.js";

function shares<K extends SoftmaxOp>(): OpRow<K> {
  return {
    samples: (dtype, random) => ({
      "every-axis": alongEach((shape, axis) => [
        { attributes: { axis } as never, inputs: [randomData(random, dtype, shape, -4, 4)] },
      ]),
    }),
  };
}

/** The shapes of a scale for elements of that shape: all of it, one number, and 1 along its last or first axis. */
function scalesOf(shape: Shape): readonly Shape[] {
  const all: readonly Shape[] = [shape, [], shape.slice(1), [...shape.slice(0, -1), 1]];
  return all.filter((one, at) => all.findIndex((other) => sameShape(one, other)) === at);
}

const CHANNELLED = SHAPES.filter(({ length }) => length > 1);

export const normalizationAxes: OpRows<OpOf<"normalization" | "batch-normalization">> = {
  Softmax: shares(),
  LogSoftmax: shares(),
  LayerNormalization: {
    samples: (dtype, random) => ({
      "every-axis": alongEach((shape, axis) =>
        scalesOf(shape.slice(axis)).flatMap((part) =>
          [[part], [part, shape.slice(axis)]].map((parts) => ({
            attributes: { axis, epsilon: 1e-3 },
            inputs: [
              randomData(random, dtype, shape),
              ...parts.map((size) => positives(random, dtype, size)),
            ],
          })),
        ),
      ),
    }),
  },
  RMSNormalization: {
    samples: (dtype, random) => ({
      "every-axis": alongEach((shape, axis) =>
        scalesOf(shape.slice(axis)).map((part) => ({
          attributes: { axis, epsilon: 1e-3 },
          inputs: [randomData(random, dtype, shape), positives(random, dtype, part)],
        })),
      ),
    }),
  },
  BatchNormalization: {
    samples: (dtype, random) => ({
      "every-rank": CHANNELLED.map((shape) => ({
        attributes: { epsilon: 1e-3 },
        inputs: [
          randomData(random, dtype, shape),
          positives(random, "f32", shape.slice(1, 2)),
          randomData(random, "f32", shape.slice(1, 2)),
        ],
      })),
    }),
  },
  BatchNormalizationGradient: {
    samples: (dtype, random) => ({
      "every-rank": CHANNELLED.map((shape) => {
        const x = randomData(random, dtype, shape);
        return {
          attributes: { epsilon: 1e-3 },
          inputs: [
            randomData(random, dtype, shape),
            x,
            positives(random, "f32", shape.slice(1, 2)),
            ...statisticsOf(x),
          ],
        };
      }),
    }),
  },
};
