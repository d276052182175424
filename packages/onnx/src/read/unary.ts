import { type DType, FAMILIES, isEighth, isFloat, type OpOf, rowsOf } from "@mp/graph";
import { and, greater, isInf, less } from "@mp/graph/ops";
import { same } from "./node/composition.js";
import type { NodeReader, NodeResult, ReaderTable } from "./node/node-reader.js";

/** The largest 64-bit integers, which exporters write for "no bound" and f64 cannot represent. */
const noBound: Partial<Record<DType, bigint>> = { i64: 2n ** 63n - 1n, u64: 2n ** 64n - 1n };

function upperBound(reader: NodeReader): number | undefined {
  const { dtype, data } = reader.constant(2) ?? {};
  const isNone = dtype !== undefined && data?.length === 1 && data[0] === noBound[dtype];
  return isNone ? undefined : reader.number(2, "the upper bound");
}

export function castTo(reader: NodeReader, to: DType): readonly NodeResult[] {
  if (reader.int("saturate", 1) !== 0 && isEighth(to) && isFloat(reader.type(0).dtype)) {
    return reader.unsupported("saturates, which casts here do not");
  }
  if (!reader.isVerbatim) {
    // The graph holds indices as i32, so a cast of them back to i32 is dropped.
    const narrow = reader.narrow(0);
    if (to === "i32" && narrow !== undefined) return [narrow];
    if (to === "i64" && reader.type(0).dtype === "i32") return [{ narrow: reader.operand(0) }];
  }
  return [reader.emitOne("Cast", [reader.operand(0)], { to })];
}

export const unaryReaders: ReaderTable<OpOf<"unary">> = {
  ...rowsOf(FAMILIES.unary, (op) => same(op, 1)),
  IsInf: (reader) => {
    const negative = reader.int("detect_negative", 1) !== 0;
    const positive = reader.int("detect_positive", 1) !== 0;
    const x = reader.operand(0);
    if (negative && positive) return [reader.emitOne("IsInf", [x], {})];
    return reader.compose([x], (values) => {
      const isSide = negative ? less(values, 0) : greater(values, 0);
      // If neither sign counts, the result is false: no number is below and above 0.
      return and(isInf(values), negative || positive ? isSide : and(less(values, 0), greater(values, 0)));
    });
  },
  LeakyRelu: (reader) => [
    reader.emitOne("LeakyRelu", [reader.operand(0)], { alpha: reader.float("alpha", 0.01) }),
  ],
  Elu: (reader) => [reader.emitOne("Elu", [reader.operand(0)], { alpha: reader.float("alpha", 1) })],
  Gelu: (reader) => {
    const approximate = reader.choice("approximate", ["none", "tanh"], "approximates by");
    return [reader.emitOne("Gelu", [reader.operand(0)], { approximate })];
  },
  Clip: (reader) => {
    const min = reader.number(1, "the lower bound");
    const max = upperBound(reader);
    const x = reader.operand(0);
    const [low, high] = [min === undefined ? {} : { min }, max === undefined ? {} : { max }];
    if (min === undefined || max === undefined || min <= max)
      return [reader.emitOne("Clip", [x], { ...low, ...high })];
    // Where the bounds cross, the upper bound wins, so it comes last.
    return [reader.emitOne("Clip", [reader.emitOne("Clip", [x], low)], high)];
  },
  Cast: (reader) => castTo(reader, reader.dtype("to")),
};
