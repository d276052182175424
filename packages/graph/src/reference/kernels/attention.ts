import type { OpAttributes } from "../../graph/attributes.js";
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

/** The transpose of `viewRows`. */
const viewColumns = (data: FloatStore, start: number, width: number): MatrixView => ({
  data,
  start,
  row: 1,
  column: width,
});

/** The bias of the scores [batch, heads, time, keys]: 0 or the mask's value, and -∞ where a query may not attend. */
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

/** A query head with its scores after the softmax. */
interface Head {
  /** Index of the query head over all batches; `keyHead` is the index of the key head that it uses. */
  readonly head: number;
  readonly keyHead: number;
  /** [time, keys]; arbitrary in rows that attend to nothing. */
  readonly shares: FloatStore;
  /** tanh(scores / softcap), if there is a softcap. */
  readonly bent: FloatStore | undefined;
  /** The queries of all heads, scaled. */
  readonly scaled: FloatStore;
  /** Whether each query attends to anything. */
  readonly attends: readonly boolean[];
}

/** Computes one matrix of scores at a time, with each intermediate in f32. */
function* attendingHeads(
  [query, key, mask]: readonly [Operand, Operand, Operand | undefined],
  { scale, isCausal, softcap }: OpAttributes["Attention"],
  arithmetic: Arithmetic,
): Generator<Head> {
  const [batch = 0, heads = 0, time = 0, size = 0] = query.shape;
  const [, keyHeads = 0, keys = 0] = key.shape;
  const factor = arithmetic.attribute(scale);
  const scaled = arithmetic.floats(query.data.length);
  readFloats(query).forEach((x, at) => {
    scaled[at] = x * factor;
  });
  const bias = maskBias(mask, isCausal, [batch, heads, time, keys], arithmetic);
  const [cap, inverse] = [arithmetic.attribute(softcap), arithmetic.attribute(1 / softcap)];
  const sum = arithmetic.floats(1);
  for (let head = 0; head < batch * heads; head++) {
    const keyHead = Math.floor(head / heads) * keyHeads + Math.floor((head % heads) / (heads / keyHeads));
    const shares = arithmetic.floats(time * keys);
    const columns = viewColumns(readFloats(key), keyHead * keys * size, size);
    multiply(shares, 0, viewRows(scaled, head * time * size, size), columns, time, size, keys);
    const bent = softcap > 0 ? arithmetic.floats(shares.length) : undefined;
    if (bent !== undefined)
      for (let at = 0; at < shares.length; at++) {
        bent[at] = (shares[at] as number) * inverse;
        bent[at] = Math.tanh(bent[at] as number);
        shares[at] = (bent[at] as number) * cap;
      }
    const attends = Array.from({ length: time }, (_, row) => {
      const from = (head * time + row) * keys;
      return softmaxRow(shares.subarray(row * keys, (row + 1) * keys), bias.subarray(from, from + keys), sum);
    });
    yield { head, keyHead, shares, bent, scaled, attends };
  }
}

/**
 * Turns the probabilities' gradient into the scores' gradient, in place.
 * @param work scratch of two elements
 */
function softmaxSlopes(shares: FloatStore, slopes: FloatStore, keys: number, work: FloatStore): void {
  for (let start = 0; start < slopes.length; start += keys) {
    work[1] = 0;
    for (let at = start; at < start + keys; at++) {
      work[0] = (shares[at] as number) * (slopes[at] as number);
      work[1] = (work[1] as number) + (work[0] as number);
    }
    for (let at = start; at < start + keys; at++) {
      slopes[at] = (slopes[at] as number) - (work[1] as number);
      slopes[at] = (slopes[at] as number) * (shares[at] as number);
    }
  }
}

export const attentionKernels: ReferenceTable<OpOf<"attention">> = {
  Attention: (inputs, attributes, outputs, arithmetic) => {
    const [query, key, value] = [operand(inputs, 0), operand(inputs, 1), operand(inputs, 2)];
    const { dtype, shape } = outputType(outputs);
    const [batch = 0, heads = 0, time = 0, valueSize = 0] = shape;
    const keys = key.shape[2] ?? 0;
    const out = arithmetic.floats(batch * heads * time * valueSize);
    for (const { head, keyHead, shares, attends } of attendingHeads(
      [query, key, inputs[3]],
      attributes,
      arithmetic,
    )) {
      const values = viewRows(readFloats(value), keyHead * keys * valueSize, valueSize);
      const start = head * time * valueSize;
      multiply(out, start, viewRows(shares, 0, keys), values, time, keys, valueSize);
      attends.forEach((is, row) => {
        if (!is) out.fill(0, start + row * valueSize, start + (row + 1) * valueSize);
      });
    }
    return [arithmetic.round(dtype, out)];
  },
  AttentionGradient: (inputs, attributes, outputs, arithmetic) => {
    const [dy, query, key, value] = [0, 1, 2, 3].map((index) => operand(inputs, index)) as [
      Operand,
      Operand,
      Operand,
      Operand,
    ];
    const { dtype } = outputType(outputs);
    const [time = 0, valueSize = 0] = dy.shape.slice(2);
    const [keys = 0, size = 0] = key.shape.slice(2);
    const [dquery, dkey, dvalue] = [query, key, value].map(({ data }) => arithmetic.floats(data.length)) as [
      FloatStore,
      FloatStore,
      FloatStore,
    ];
    const [g, work, factor] = [
      readFloats(dy).slice(),
      arithmetic.floats(2),
      arithmetic.attribute(attributes.scale),
    ];
    for (const { head, keyHead, shares, bent, scaled, attends } of attendingHeads(
      [query, key, inputs[4]],
      attributes,
      arithmetic,
    )) {
      const [rows, ofKey, ofValue] = [head * time, keyHead * keys * size, keyHead * keys * valueSize];
      attends.forEach((is, row) => {
        if (is) return;
        shares.fill(0, row * keys, (row + 1) * keys);
        g.fill(0, (rows + row) * valueSize, (rows + row + 1) * valueSize);
      });
      const received = viewRows(g, rows * valueSize, valueSize);
      multiply(dvalue, ofValue, viewColumns(shares, 0, keys), received, keys, time, valueSize);
      const slopes = arithmetic.floats(shares.length);
      const values = viewColumns(readFloats(value), ofValue, valueSize);
      multiply(slopes, 0, received, values, time, valueSize, keys);
      softmaxSlopes(shares, slopes, keys, work);
      bent?.forEach((x, at) => {
        bent[at] = x * x;
        bent[at] = 1 - (bent[at] as number);
        slopes[at] = (slopes[at] as number) * (bent[at] as number);
      });
      const scores = viewRows(slopes, 0, keys);
      multiply(dquery, rows * size, scores, viewRows(readFloats(key), ofKey, size), time, keys, size);
      const transposed = viewColumns(slopes, 0, keys);
      multiply(dkey, ofKey, transposed, viewRows(scaled, rows * size, size), keys, time, size);
    }
    dquery.forEach((x, at) => {
      dquery[at] = x * factor;
    });
    return [dquery, dkey, dvalue].map((slopes) => arithmetic.round(dtype, slopes));
  },
};
