/**
 * The bytes that a kernel moves between the device's memory and its cores: each operand once and each result once, as
 * if nothing stayed in a cache from one kernel to the next. Views are free. Of an operand that is only sliced or
 * gathered from, and of a result that is updated in place, the part that is touched counts.
 */
import type { HloInstruction } from "./hlo-module.js";

/** Operations that read as much of their first operand as they return. */
const PARTIAL = new Set(["slice", "dynamic-slice", "gather"]);
const VIEWS = new Set(["bitcast", "get-tuple-element", "tuple", "optimization-barrier"]);

export function kernelBytes(kernel: HloInstruction): number {
  const read = [...new Set(kernel.operands)].reduce((sum, operand) => sum + readBy([kernel], operand), 0);
  return read + written(kernel);
}

/** What `users` read of a value together, at most all of it. */
function readBy(users: readonly HloInstruction[], value: HloInstruction): number {
  const read = users.reduce((sum, user) => sum + readByOne(user, value), 0);
  return Math.min(value.shape.bytes, read);
}

function readByOne(user: HloInstruction, value: HloInstruction): number {
  const [first, ...others] = user.operands;
  const isFirst = first === value && !others.includes(value);
  if (isFirst && PARTIAL.has(user.opcode)) return user.shape.bytes;
  if (isFirst && changedPart(user) !== undefined) return 0;
  if (user.opcode === "fusion") return readInside(user, value);
  // A fusion's result that is a view of its operand is a copy.
  if (VIEWS.has(user.opcode) && user.users.length > 0) return readBy(user.users, user);
  return value.shape.bytes;
}

/** What the nodes of a fusion read of its operand. */
function readInside(fusion: HloInstruction, value: HloInstruction): number {
  const inner = fusion.called[0]?.instructions ?? [];
  return inner
    .filter(({ opcode, parameter }) => opcode === "parameter" && fusion.operands[parameter] === value)
    .reduce((sum, parameter) => sum + readBy(parameter.users, parameter), 0);
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
