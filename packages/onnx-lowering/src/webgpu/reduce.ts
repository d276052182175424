import { REDUCE_OPS, type ReduceOp, rowsOf } from "@mp/graph";
import { int } from "@mp/onnx/write";
import { inF32 } from "../lowerings/in-f32.js";
import { extremeKeepingNaN } from "../lowerings/nan.js";
import {
  at,
  firstApplicable,
  type OwnLowering,
  type OwnLoweringsOf,
  operandType,
} from "../lowerings/own-lowering.js";
import { search, topK } from "./search.js";

/**
 * Reduces scalars without the kernel: when a recorded run is replayed, the kernel would always give the value
 * from the recording.
 */
const ofScalar: OwnLowering<ReduceOp> = (node, operands, writer) => {
  const { dtype, shape } = operandType(node);
  if (shape.length > 0) return undefined;
  const x = at(operands, 0);
  if (node.op === "ReduceL1" || node.op === "ReduceL2") return [writer.one("Abs", [x])];
  if (node.op === "ReduceSumSquare") return [writer.one("Mul", [x, x])];
  if (node.op === "ReduceLogSum") return [writer.one("Log", [x])];
  return [dtype === "f32" || dtype === "f16" ? writer.one("Identity", [x]) : x];
};

/** log Σ eˣ as max + log Σ e^(x - max), because the kernel's sum overflows. */
const logSumExp: OwnLowering<"ReduceLogSumExp"> = (node, operands, writer) => {
  const { axes, keepdims } = node.attributes;
  if (axes.length === 0) return undefined;
  const along = writer.ints(axes);
  const whole = inF32(node, at(operands, 0), writer, (x) => {
    const most = writer.one("ReduceMax", [x, along], { keepdims: int(1) });
    // Infinities are not subtracted from themselves.
    const isNumber = writer.one("Less", [
      writer.one("Abs", [most]),
      writer.scalar(Number.POSITIVE_INFINITY, "f32"),
    ]);
    const shift = writer.one("Where", [isNumber, most, writer.scalar(0, "f32")]);
    const powers = writer.one("Exp", [writer.one("Sub", [x, shift])]);
    const sum = writer.one("ReduceSum", [powers, along], { keepdims: int(1) });
    return writer.one("Add", [writer.one("Log", [sum]), shift]);
  });
  return [keepdims ? whole : writer.one("Squeeze", [whole, along])];
};

const of = <K extends ReduceOp>(own?: OwnLowering<K>): OwnLowering<K> =>
  own === undefined ? (ofScalar as OwnLowering<K>) : firstApplicable(ofScalar as OwnLowering<K>, own);

export const reduceLowerings: OwnLoweringsOf<"reduce"> = {
  ...rowsOf(REDUCE_OPS, () => of<ReduceOp>()),
  ReduceMax: of(extremeKeepingNaN),
  ReduceMin: of(extremeKeepingNaN),
  ReduceLogSumExp: of(logSumExp),
  ArgMax: search,
  ArgMin: search,
  TopK: topK,
};
