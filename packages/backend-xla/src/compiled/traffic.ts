/**
 * The bytes that a kernel moves between the device's memory and its cores: each operand once and each result once, as
 * if nothing stayed in a cache from one kernel to the next. Views are free. Of an operand that is only sliced or
 * gathered from, and of a result that is updated in place, the part that is touched counts.
 */
import type { HloInstruction } from "./hlo-module.js";
import { countOf, type HloShape } from "./shape.js";

/** Operations that read as much of their first operand as is read of their result. */
const PARTIAL = new Set(["slice", "dynamic-slice", "gather"]);
const VIEWS = new Set(["bitcast", "get-tuple-element", "tuple", "optimization-barrier"]);
/** Operations that read all of their operands for any part of their result, even where both are of one size. */
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

/** The part of a value in a fusion that the fusion's results need. */
function neededPart(value: HloInstruction): number {
  if (value.users.length === 0) return 1;
  const part =
    known.get(value) ?? value.users.reduce((sum, user) => sum + partOf(user, value, neededPart), 0);
  known.set(value, Math.min(1, part));
  return Math.min(1, part);
}

const known = new WeakMap<HloInstruction, number>();

/**
 * The part of an operand that an operation needs.
 * @param needed the part of its result that is needed
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

/** The part of a fusion's operand that its nodes need. */
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
  // Memory that a library works in is no result.
  const results = result.shape.parts.length > 0 ? result.shape.parts : [result.shape];
  const isScratch = (type: string): boolean => result.opcode === "custom-call" && /^[su]8$/.test(type);
  return results.reduce((sum, { type, bytes }) => sum + (isScratch(type) ? 0 : bytes), 0);
}

/**
 * Bytes that an operation moves for the part of its first operand that it changes in place; undefined where it
 * changes none, or makes a changed copy, which later nodes of a fusion read.
 */
function changedPart({ opcode, operands, users }: HloInstruction): number | undefined {
  if (!isStored(operands[0]) || !users.every(({ opcode: reader }) => VIEWS.has(reader))) return undefined;
  if (opcode === "dynamic-update-slice") return operands[1]?.shape.bytes ?? 0;
  // Every row that is added to is read and written.
  if (opcode === "scatter") return 2 * (operands.at(-1)?.shape.bytes ?? 0);
  return undefined;
}

/** Whether a value is in memory before the kernel runs: an operand of a fusion. */
function isStored(value: HloInstruction | undefined): boolean {
  if (value === undefined) return false;
  if (value.opcode === "bitcast") return isStored(value.operands[0]);
  return value.opcode === "parameter";
}
