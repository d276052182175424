/** A compiled program in XLA's form. A computation is a list of instructions, which may run further computations. */
import { type Message, messageAt, messagesAt, numberAt, numbersAt, readMessage, textAt } from "./protobuf.js";
import { type HloShape, readShape } from "./shape.js";

export interface HloInstruction {
  /** XLA's name of the operation, such as `dot`, `fusion`, `custom-call`. */
  readonly opcode: string;
  readonly shape: HloShape;
  readonly operands: readonly HloInstruction[];
  /** The instructions of the same computation that read this one. */
  readonly users: readonly HloInstruction[];
  /** The computations that the instruction runs: a fusion's nodes; a loop's body, then its condition. */
  readonly called: readonly HloComputation[];
  /** For a `parameter`, its index among the parameters of the computation. */
  readonly parameter: number;
  /** For a `get-tuple-element`, the index of the element. */
  readonly element: number;
  /** For a fusion, its kind, such as `kLoop`. */
  readonly kind: string;
  /** For a `custom-call`, the function that it calls. */
  readonly target: string;
  /** Settings that the GPU compiler chose for the instruction, as JSON. */
  readonly config: string;
  /** The instruction's protobuf message, for fields that few instructions have. */
  readonly message: Message;
}

export interface HloComputation {
  /** Instructions in topological order: operands come first. */
  readonly instructions: readonly HloInstruction[];
  /** The instruction whose value the computation returns. */
  readonly root: HloInstruction;
}

/**
 * Reads the computation that a run of a compiled program begins with.
 * @param format the plugin's name for the format of the bytes: `hlo` or `hlo_with_config`
 * @throws Error for bytes that are no module
 */
export function readModule(bytes: Uint8Array, format: string): HloComputation {
  const outer = readMessage(bytes);
  const message = format === "hlo_with_config" ? messageAt(outer, 1) : outer;
  const computations = new Map<number, HloComputation>();
  // Called computations come before their callers.
  for (const part of messagesAt(message, 3)) {
    computations.set(numberAt(part, 5), readComputation(part, computations));
  }
  const entry = computations.get(numberAt(message, 6)) ?? [...computations.values()].at(-1);
  if (entry === undefined) throw new Error("internal: a compiled module without computations");
  return entry;
}

function readComputation(message: Message, known: ReadonlyMap<number, HloComputation>): HloComputation {
  const byId = new Map<number, HloInstruction & { readonly users: HloInstruction[] }>();
  for (const part of messagesAt(message, 2)) {
    const operands = numbersAt(part, 36).flatMap((id) => byId.get(id) ?? []);
    const called = numbersAt(part, 38).flatMap((id) => known.get(id) ?? []);
    const instruction = { ...readInstruction(part), operands, called, users: [] };
    for (const operand of new Set(operands)) operand.users.push(instruction);
    byId.set(numberAt(part, 35), instruction);
  }
  const instructions = [...byId.values()];
  const root = byId.get(numberAt(message, 6)) ?? instructions.at(-1);
  if (root === undefined) throw new Error("internal: a computation without instructions");
  return { instructions, root };
}

function readInstruction(message: Message): Omit<HloInstruction, "operands" | "called" | "users"> {
  return {
    opcode: textAt(message, 2),
    shape: readShape(messageAt(message, 3)),
    parameter: numberAt(message, 9),
    element: numberAt(message, 13),
    kind: textAt(message, 11),
    target: textAt(message, 28),
    config: textAt(message, 43),
    message,
  };
}
