import type { OpOf } from "../../graph/families.js";
import type { Arithmetic } from "../elements/arithmetic.js";
import { outputType, type ReferenceTable } from "../elements/kernel.js";
import { type FloatStore, type Operand, operand, readFloats } from "../elements/store.js";
import { broadcastStrides, forEachRun } from "../elements/strided.js";
import { type MatrixView, multiply } from "./multiply.js";

const viewRows = (data: FloatStore, start: number, width: number): MatrixView => ({
  data,
  start,
  row: width,
  column: 1,
});

/** The bias of the scores [batch, heads, time, keys]: 0 or the mask's number, and -∞ where a query may not attend. */
function maskBias(
  mask: Operand | undefined,
  isCausal: boolean,
  scores: readonly number[],
  arithmetic: Arithmetic,
): FloatStore {
  const bias = arithmetic.floats(scores.reduce((product, length) => product * length, 1));
  const [time = 0, keys = 0] = scores.slice(2);
  if (mask !== undefined) {
    const data = readFloats(mask);
    const strides = broadcastStrides(mask.shape, scores);
    forEachRun(scores, [strides], ([from = 0], [step = 0], length, at) => {
      for (let k = 0; k < length; k++) {
        const value = data[from + k * step] as number;
        bias[at + k] = mask.dtype !== "bool" ? value : value === 0 ? Number.NEGATIVE_INFINITY : 0;
      }
    });
  }
  if (isCausal)
    for (let row = 0; row * keys < bias.length; row++)
      bias.fill(Number.NEGATIVE_INFINITY, row * keys + Math.min(keys, (row % time) + 1), (row + 1) * keys);
  return bias;
}

/** Computes the softmax of one row in place. Returns false for a row whose bias lets it attend to nothing. */
function softmaxRow(row: FloatStore, bias: FloatStore, sum: FloatStore): boolean {
  let most = Number.NEGATIVE_INFINITY;
  for (let k = 0; k < row.length; k++) {
    row[k] = (row[k] as number) + (bias[k] as number);
    most = Math.max(most, row[k] as number);
  }
  if (bias.every((x) => x === Number.NEGATIVE_INFINITY)) return false;
  sum[0] = 0;
  for (let k = 0; k < row.length; k++) {
    row[k] = (row[k] as number) - most;
    row[k] = Math.exp(row[k] as number);
    sum[0] = (sum[0] as number) + (row[k] as number);
  }
  for (let k = 0; k < row.length; k++) row[k] = (row[k] as number) / (sum[0] as number);
  return true;
}

export const attentionKernels: ReferenceTable<OpOf<"attention">> = {
  /** Computes one matrix of scores at a time, with each intermediate in f32. */
  Attention: (inputs, { scale, isCausal, softcap }, outputs, arithmetic) => {
    const [query, key, value] = [operand(inputs, 0), operand(inputs, 1), operand(inputs, 2)];
    const { dtype, shape } = outputType(outputs);
    const [batch = 0, heads = 0, time = 0, valueSize = 0] = shape;
    const [, keyHeads = 0, keys = 0, size = 0] = key.shape;
    const factor = arithmetic.attribute(scale);
    const scaled = arithmetic.floats(query.data.length);
    readFloats(query).forEach((x, at) => {
      scaled[at] = x * factor;
    });
    const bias = maskBias(inputs[3], isCausal, [batch, heads, time, keys], arithmetic);
    const out = arithmetic.floats(batch * heads * time * valueSize);
    const [cap, inverse] = [arithmetic.attribute(softcap), arithmetic.attribute(1 / softcap)];
    const sum = arithmetic.floats(1);
    for (let head = 0; head < batch * heads; head++) {
      const position = Math.floor(head / heads) * keyHeads + Math.floor((head % heads) / (heads / keyHeads));
      const scores = arithmetic.floats(time * keys);
      const columns: MatrixView = {
        data: readFloats(key),
        start: position * keys * size,
        row: 1,
        column: size,
      };
      multiply(scores, 0, viewRows(scaled, head * time * size, size), columns, time, size, keys);
      if (softcap > 0)
        for (let at = 0; at < scores.length; at++) {
          scores[at] = (scores[at] as number) * inverse;
          scores[at] = Math.tanh(scores[at] as number);
          scores[at] = (scores[at] as number) * cap;
        }
      const attends = Array.from({ length: time }, (_, row) => {
        const from = (head * time + row) * keys;
        return softmaxRow(
          scores.subarray(row * keys, (row + 1) * keys),
          bias.subarray(from, from + keys),
          sum,
        );
      });
      const values = viewRows(readFloats(value), position * keys * valueSize, valueSize);
      const start = head * time * valueSize;
      multiply(out, start, viewRows(scores, 0, keys), values, time, keys, valueSize);
      attends.forEach((is, row) => {
        if (!is) out.fill(0, start + row * valueSize, start + (row + 1) * valueSize);
      });
    }
    return [arithmetic.round(dtype, out)];
  },
};
