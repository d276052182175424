/**
 * The bytes that a kernel moves between the device's memory and its cores. Each operand is read once and each
 * result written once, as if nothing stayed in a cache between kernels. Views are free. If a kernel only
 * slices or gathers from an operand, or updates a result in place, only the elements that it touches count.
 */
import type { HloInstruction } from "./hlo-module.js";
import { countOf, type HloShape } from "./shape.js";

/** Operations that read only as many elements of the first operand as the needed part of the result has. */
const PARTIAL = new Set(["slice", "dynamic-slice", "gather"]);
const VIEWS = new Set(["bitcast", "get-tuple-element", "tuple", "optimization-barrier"]);
/** Operations that read whole operands for any part of the result, even if sizes are equal. */
const WHOLE = new Set([
  "concatenate",
  "convolution",
  "custom-call",
  "dot",
  "pad",
  "reduce",
  "reduce-window",
  "scatter",
  "sort",
]);

export function kernelBytes(kernel: HloInstruction): number {
  const read = [...new Set(kernel.operands)].reduce((sum, operand) => sum + readBy(kernel, operand), 0);
  return read + written(kernel);
}

const elementsOf = ({ sizes }: HloShape): number => countOf(sizes);

function readBy(kernel: HloInstruction, operand: HloInstruction): number {
  const part = partOf(kernel, operand, () => 1);
  return operand.shape.bytes * Math.min(1, part);
}

/** Returns which fraction (0 to 1) of a value inside a fusion the results of the fusion need. */
function neededPart(value: HloInstruction): number {
  if (value.users.length === 0) return 1;
  const part =
    known.get(value) ?? value.users.reduce((sum, user) => sum + partOf(user, value, neededPart), 0);
  known.set(value, Math.min(1, part));
  return Math.min(1, part);
}

const known = new WeakMap<HloInstruction, number>();

/**
 * Returns which fraction of its operand `value` an operation reads.
 * @param needed returns which fraction of an operation's result is needed
 */
function partOf(
  user: HloInstruction,
  value: HloInstruction,
  needed: (user: HloInstruction) => number,
): number {
  const { opcode, operands, shape } = user;
  const isFirst = operands[0] === value && !operands.includes(value, 1);
  const [from, to] = [elementsOf(value.shape), elementsOf(shape)];
  if (isFirst && PARTIAL.has(opcode)) return (to * needed(user)) / Math.max(1, from);
  if (isFirst && changedPart(user) !== undefined) return 0;
  if (opcode === "fusion") return partInside(user, value);
  return VIEWS.has(opcode) || (from === to && !WHOLE.has(opcode)) ? needed(user) : 1;
}

/** Returns which fraction of an operand the operations inside a fusion need. */
function partInside(fusion: HloInstruction, value: HloInstruction): number {
  const inner = fusion.called[0]?.instructions ?? [];
  return inner
    .filter(({ opcode, parameter }) => opcode === "parameter" && fusion.operands[parameter] === value)
    .reduce((sum, parameter) => sum + neededPart(parameter), 0);
}

function written(result: HloInstruction): number {
  const changed = changedPart(result);
  if (changed !== undefined) return changed;
  const inner = result.opcode === "fusion" ? result.called[0]?.root : undefined;
  if (inner !== undefined) return written(inner);
  if (VIEWS.has(result.opcode)) return result.operands.reduce((sum, operand) => sum + written(operand), 0);
  // A library's scratch memory is not a result.
  const results = result.shape.parts.length > 0 ? result.shape.parts : [result.shape];
  const isScratch = (type: string): boolean => result.opcode === "custom-call" && /^[su]8$/.test(type);
  return results.reduce((sum, { type, bytes }) => sum + (isScratch(type) ? 0 : bytes), 0);
}

/**
 * Returns the bytes that an operation moves to change part of its first operand in place. Undefined for other
 * operations, such as one whose changed copy other operations of the fusion read.
 */
function changedPart({ opcode, operands, users }: HloInstruction): number | undefined {
  if (!isStored(operands[0]) || !users.every(({ opcode: reader }) => VIEWS.has(reader))) return undefined;
  if (opcode === "dynamic-update-slice") return operands[1]?.shape.bytes ?? 0;
  // Every row that is added to is read and written.
  if (opcode === "scatter") return 2 * (operands.at(-1)?.shape.bytes ?? 0);
  return undefined;
}

/** Whether a value is already in memory when the kernel starts, as the operands of a fusion are. */
function isStored(value: HloInstruction | undefined): boolean {
  if (value === undefined) return false;
  if (value.opcode === "bitcast") return isStored(value.operands[0]);
  return value.opcode === "parameter";
}
