import type { DType, Tensor } from "@mp/core";
import { FAMILIES, isFloat, type OpOf, rowsOf } from "@mp/core/graph";
import { and, greater, isInf, less } from "@mp/core/ops";
import { quote } from "../problem.js";
import { dtypeOfCode } from "./node/dtype-of-code.js";
import type { NodeReader, NodeResult, ReaderTable } from "./node/node-reader.js";
import { scalarOperand } from "./node/scalar-operand.js";
import { traced } from "./node/traced.js";
import { same } from "./same.js";

/** The largest integers, which exporters write where there is no bound, and which no number is. */
const noBound: Partial<Record<DType, bigint>> = { i64: 2n ** 63n - 1n, u64: 2n ** 64n - 1n };

function upperBound(reader: NodeReader): number | undefined {
  const { dtype, data } = reader.constant(2) ?? {};
  const isNone = dtype !== undefined && data?.length === 1 && data[0] === noBound[dtype];
  return isNone ? undefined : scalarOperand(reader, 2, "the upper bound");
}

export function castTo(reader: NodeReader, to: DType): readonly NodeResult[] {
  const isEighth = to === "f8e4m3" || to === "f8e5m2";
  if (reader.int("saturate", 1) !== 0 && isEighth && isFloat(reader.typeOf(0).dtype)) {
    return reader.unsupported("saturates, which casts here do not");
  }
  if (!reader.isVerbatim) {
    // Indices: what the graph has as i32 all along needs neither cast.
    const narrow = reader.narrow(0);
    if (to === "i32" && narrow !== undefined) return [narrow];
    if (to === "i64" && reader.typeOf(0).dtype === "i32") return [{ narrow: reader.operand(0) }];
  }
  return [reader.emitOne("Cast", [reader.operand(0)], { to })];
}

export const unaryReaders: ReaderTable<OpOf<"unary">> = {
  ...rowsOf(FAMILIES.unary, (op) => same(op, 1)),
  IsInf: (reader) => {
    const detected = [
      reader.int("detect_negative", 1) !== 0,
      reader.int("detect_positive", 1) !== 0,
    ] as const;
    if (detected[0] && detected[1]) return [reader.emitOne("IsInf", [reader.operand(0)], {})];
    const one = (x: Tensor): Tensor => {
      const isSide = detected[0] ? less(x, 0) : greater(x, 0);
      // Nothing is both.
      return and(isInf(x), detected[0] || detected[1] ? isSide : and(less(x, 0), greater(x, 0)));
    };
    return [traced(reader, [reader.operand(0)], one)];
  },
  LeakyRelu: (reader) => [
    reader.emitOne("LeakyRelu", [reader.operand(0)], { alpha: reader.float("alpha", 0.01) }),
  ],
  Elu: (reader) => [reader.emitOne("Elu", [reader.operand(0)], { alpha: reader.float("alpha", 1) })],
  Gelu: (reader) => {
    const approximate = reader.string("approximate", "none");
    if (approximate !== "none" && approximate !== "tanh")
      return reader.unsupported(`approximates by ${quote(approximate)}`);
    return [reader.emitOne("Gelu", [reader.operand(0)], { approximate })];
  },
  Clip: (reader) => {
    const min = scalarOperand(reader, 1, "the lower bound");
    const max = upperBound(reader);
    if (min !== undefined && max !== undefined && min > max) {
      // The upper bound comes last.
      const lower = reader.emitOne("Clip", [reader.operand(0)], { min });
      return [reader.emitOne("Clip", [lower], { max })];
    }
    return [
      reader.emitOne("Clip", [reader.operand(0)], {
        ...(min === undefined ? {} : { min }),
        ...(max === undefined ? {} : { max }),
      }),
    ];
  },
  Cast: (reader) => castTo(reader, dtypeOfCode(reader, reader.int("to"))),
};
