// ONNX's reductions and normalizations that are compositions of others.
import type { Tensor } from "@mp/core";
import {
  abs,
  add,
  argMax,
  cast,
  div,
  equal,
  mul,
  oneHot,
  pow,
  range,
  reduceMean,
  reduceSum,
  reshape,
  sqrt,
  square,
  sub,
  where,
} from "@mp/core/ops";
import { foldOperands } from "./binary.js";
import { axisOf } from "./node/axis.js";
import { dtypeOfCode } from "./node/dtype-of-code.js";
import type { ReadNode } from "./node/node-reader.js";
import { traced } from "./node/traced.js";
import { windowOf } from "./pooling.js";

/** A norm of 0 gives 0. */
function normalized(x: Tensor, norm: Tensor): Tensor {
  return where(equal(norm, 0), 0, div(x, norm));
}

export const reductionReaders: ReadonlyMap<string, ReadNode> = new Map<string, ReadNode>([
  [
    "Mean",
    (reader) => {
      const total = foldOperands(reader, "Add");
      return [traced(reader, [total], (sum) => div(sum, reader.operandCount))];
    },
  ],
  [
    "Hardmax",
    (reader) => {
      const x = reader.operand(0);
      const axis = axisOf(reader, reader.int("axis", -1), x.shape.length);
      const depth = x.shape[axis] ?? 1;
      return [
        traced(reader, [x], (values) =>
          cast(oneHot(argMax(values, { axis }), depth, { axis }), values.dtype),
        ),
      ];
    },
  ],
  [
    "LpNormalization",
    (reader) => {
      const x = reader.operand(0);
      const axis = axisOf(reader, reader.int("axis", -1), x.shape.length);
      const p = reader.int("p", 2);
      if (p !== 1 && p !== 2) return reader.unsupported(`is of the norm ${p}`);
      return [
        traced(reader, [x], (values) => {
          const sum = reduceSum(p === 1 ? abs(values) : square(values), {
            axes: [axis],
            keepdims: true,
          });
          return normalized(values, p === 1 ? sum : sqrt(sum));
        }),
      ];
    },
  ],
  [
    "MeanVarianceNormalization",
    (reader) => {
      const axes = reader.ints("axes") ?? [0, 2, 3];
      return [
        traced(reader, [reader.operand(0)], (x) => {
          const centered = sub(x, reduceMean(x, { axes, keepdims: true }));
          const variance = reduceMean(square(centered), { axes, keepdims: true });
          return div(centered, add(sqrt(variance), 1e-9));
        }),
      ];
    },
  ],
  [
    "LpPool",
    (reader) => {
      const p = reader.int("p", 2);
      const window = windowOf(reader, 0);
      const elements = window.kernelShape.reduce((product, size) => product * size, 1);
      const x = reader.operand(0);
      const powers = traced(reader, [x], (values) => pow(abs(values), p));
      const mean = reader.emitOne("AveragePool", [powers], { ...window, countIncludePad: true });
      if (window.ceilMode) return reader.unsupported("rounds sizes up, where parts of windows lie outside");
      return [traced(reader, [mean], (means) => pow(mul(means, elements), 1 / p))];
    },
  ],
  [
    "EyeLike",
    (reader) => {
      const { shape, dtype } = reader.typeOf(0);
      const [rows, columns] = shape;
      if (rows === undefined || columns === undefined || shape.length !== 2)
        return reader.unsupported("takes no matrix");
      const to = reader.hasAttribute("dtype") ? dtypeOfCode(reader, reader.int("dtype")) : dtype;
      const k = reader.int("k", 0);
      return [
        traced(reader, [], () =>
          cast(equal(range(0, columns), add(reshape(range(0, rows), [rows, 1]), k)), to),
        ),
      ];
    },
  ],
]);
