// ONNX's reductions and normalizations that are compositions of other operators.
import type { Tensor } from "@mp/graph";
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
} from "@mp/graph/ops";
import { foldOperands } from "./binary.js";
import { composition } from "./node/composition.js";
import type { ReadNode } from "./node/node-reader.js";
import { poolingWindow } from "./pooling.js";

/** Divides x by its norm; 0 where the norm is 0. */
const normalize = (x: Tensor, norm: Tensor): Tensor => where(equal(norm, 0), 0, div(x, norm));

export const reductionReaders: Readonly<Record<string, ReadNode>> = {
  Mean: (reader) => reader.compose([foldOperands(reader, "Add")], (sum) => div(sum, reader.operandCount)),
  Hardmax: composition(1, (reader, x) => {
    const axis = reader.axis(x.shape.length, -1);
    return cast(oneHot(argMax(x, { axis }), x.shape[axis] ?? 1, { axis }), x.dtype);
  }),
  LpNormalization: composition(1, (reader, x) => {
    const axes = [reader.axis(x.shape.length, -1)];
    const p = reader.int("p", 2);
    if (p !== 1 && p !== 2) return reader.unsupported(`is of the norm ${p}`);
    const sum = reduceSum(p === 1 ? abs(x) : square(x), { axes, keepdims: true });
    return normalize(x, p === 1 ? sum : sqrt(sum));
  }),
  MeanVarianceNormalization: composition(1, (reader, x) => {
    const axes = reader.ints("axes") ?? [0, 2, 3];
    const centered = sub(x, reduceMean(x, { axes, keepdims: true }));
    const variance = reduceMean(square(centered), { axes, keepdims: true });
    return div(centered, add(sqrt(variance), 1e-9));
  }),
  LpPool: (reader) => {
    const p = reader.int("p", 2);
    const window = poolingWindow(reader, 0);
    const elements = window.kernelShape.reduce((product, size) => product * size, 1);
    const powers = reader.compose([reader.operand(0)], (x) => pow(abs(x), p));
    const mean = reader.emitOne("AveragePool", powers, { ...window, countIncludePad: true });
    if (window.ceilMode) return reader.unsupported("rounds sizes up, where parts of windows lie outside");
    return reader.compose([mean], (means) => pow(mul(means, elements), 1 / p));
  },
  EyeLike: (reader) => {
    const { shape, dtype } = reader.type(0);
    const [rows, columns] = shape;
    if (rows === undefined || columns === undefined || shape.length !== 2)
      return reader.unsupported("takes no matrix");
    const to = reader.hasAttribute("dtype") ? reader.dtype("dtype") : dtype;
    const k = reader.int("k", 0);
    return reader.compose([], () =>
      cast(equal(range(0, columns), add(reshape(range(0, rows), [rows, 1]), k)), to),
    );
  },
};
