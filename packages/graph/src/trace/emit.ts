import { type DType, isFloat } from "../dtype.js";
import { dtypeMismatch, invalid, MpError } from "../errors.js";
import type { Op, OpAttributes } from "../graph/attributes.js";
import type { GraphBuilder } from "../graph/build/builder.js";
import type { Origin, Value } from "../graph/graph.js";
import { shown } from "../shown.js";
import { isTensor, Tensor } from "./tensor.js";
import { currentBuilder, originHere } from "./trace.js";

/** An operand: a tensor, or a number that takes the dtype of the other operand. */
export type Operand = Tensor | number;

/** Appends one node for a user's call. Errors name the user's line. */
export function emitAll<K extends Op>(
  op: K,
  inputs: readonly Tensor[],
  attributes: OpAttributes[K],
): readonly Tensor[] {
  return emitHere(op, attributes, (builder) =>
    inputs.map((input) => Tensor.valueIn(asTensor(input, op), builder, op)),
  );
}

/** `emitAll` for ops with one output. */
export function emit<K extends Op>(op: K, inputs: readonly Tensor[], attributes: OpAttributes[K]): Tensor {
  return first(emitAll(op, inputs, attributes));
}

/** Appends an elementwise node of several operands. Numbers become literals; narrower floats are widened. */
export function emitBroadcast<K extends Op>(
  op: K,
  operands: readonly Operand[],
  attributes: OpAttributes[K],
): Tensor {
  const valuesIn = (builder: GraphBuilder, origin: Origin): readonly Value[] => {
    const dtype = commonDType(op, operands.filter(isTensor));
    return operands.map((operand) => {
      if (typeof operand === "number") return builder.literal(operand, dtype);
      const value = Tensor.valueIn(asTensor(operand, op), builder, op);
      return value.dtype === dtype ? value : builder.emitOne("Cast", [value], { to: dtype }, origin);
    });
  };
  return first(emitHere(op, attributes, valuesIn));
}

function emitHere<K extends Op>(
  op: K,
  attributes: OpAttributes[K],
  valuesIn: (builder: GraphBuilder, origin: Origin) => readonly Value[],
): readonly Tensor[] {
  const builder = currentBuilder(op);
  const origin = originHere(builder);
  try {
    const values = valuesIn(builder, origin);
    return builder.emit(op, values, attributes, origin).map((value) => Tensor.of(value));
  } catch (error) {
    if (!MpError.is(error) || origin.line === undefined || error.details["line"] !== undefined) throw error;
    throw new MpError(error.code, `${error.message} (at ${origin.line})`, {
      details: { ...error.details, line: origin.line, scope: origin.scope },
    });
  }
}

/**
 * The common dtype of operands. Floats widen (f16 with bf16 gives f32, as in PyTorch); other dtypes must agree.
 * @throws MP_DTYPE_MISMATCH, MP_INVALID_ARGUMENT when there is no tensor at all
 */
export function commonDType(op: string, tensors: readonly { readonly dtype: DType }[]): DType {
  const [head, ...rest] = tensors;
  if (head === undefined) {
    throw invalid(`${op}: needs a tensor among its operands; literal(1) makes one of a number`);
  }
  let dtype = head.dtype;
  for (const tensor of rest) {
    if (tensor.dtype === dtype) continue;
    if (!isFloat(dtype) || !isFloat(tensor.dtype)) {
      throw dtypeMismatch(`${op}: operands are ${dtype} and ${tensor.dtype}; cast one of them`, {
        details: { dtypes: [dtype, tensor.dtype] },
      });
    }
    dtype = "f32";
  }
  return dtype;
}

/**
 * Checks that a value is a traced tensor.
 * @throws MP_INVALID_ARGUMENT for anything else, with `what` in its message
 */
export function asTensor(value: unknown, what: string): Tensor {
  if (isTensor(value)) return value;
  throw invalid(`${what}: takes traced tensors, got ${describe(value)}`, {
    details: value === undefined ? { got: "undefined" } : {},
  });
}

function describe(value: unknown): string {
  if (typeof value === "object" && value !== null && "data" in value)
    return "host data; wrap it with constant(...)";
  if (Array.isArray(value) && isTensor(value[0]))
    return "a list that begins with one; a layer with statistics gives [output, state]: const [y, state] = model.apply(…)";
  return shown(value);
}

function first(tensors: readonly Tensor[]): Tensor {
  const [tensor] = tensors;
  if (tensor === undefined) throw new Error("internal: an op without outputs");
  return tensor;
}
