/** A compiled program as XLA describes it: computations of instructions, of which some run other computations. */
import { type Message, messageAt, messagesAt, numberAt, numbersAt, readMessage, textAt } from "./protobuf.js";
import { type HloShape, readShape } from "./shape.js";

export interface HloInstruction {
  readonly name: string;
  /** XLA's, such as `dot`, `fusion`, `custom-call`. */
  readonly opcode: string;
  readonly shape: HloShape;
  readonly operands: readonly HloInstruction[];
  /** The instructions of the same computation that read this one. */
  readonly users: readonly HloInstruction[];
  /** The computations that it runs: a fusion's nodes; a loop's body, then its condition. */
  readonly called: readonly HloComputation[];
  /** A `parameter`'s position among those of its computation. */
  readonly parameter: number;
  /** The position that a `get-tuple-element` reads. */
  readonly element: number;
  /** A fusion's kind. */
  readonly kind: string;
  /** A `custom-call`'s function. */
  readonly target: string;
  /** What the GPU's compiler notes about it, as JSON. */
  readonly config: string;
  /** The message, for what few instructions have. */
  readonly message: Message;
}

export interface HloComputation {
  readonly name: string;
  /** In an order in which each stands after its operands. */
  readonly instructions: readonly HloInstruction[];
  /** The instruction whose value is the computation's. */
  readonly root: HloInstruction;
}

/** The computation that runs when the program does. */
export interface HloModule {
  readonly entry: HloComputation;
}

/**
 * @param format of the bytes, as the plugin names it: `hlo` or `hlo_with_config`
 * @throws Error for bytes that are no module
 */
export function readModule(bytes: Uint8Array, format: string): HloModule {
  const outer = readMessage(bytes);
  const message = format === "hlo_with_config" ? messageAt(outer, 1) : outer;
  const computations = new Map<number, HloComputation>();
  // Those that are called stand before their callers.
  for (const part of messagesAt(message, 3)) {
    computations.set(numberAt(part, 5), readComputation(part, computations));
  }
  const entry = computations.get(numberAt(message, 6)) ?? [...computations.values()].at(-1);
  if (entry === undefined) throw new Error("internal: a compiled module without computations");
  return { entry };
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
  return { name: textAt(message, 1), instructions, root };
}

function readInstruction(message: Message): Omit<HloInstruction, "operands" | "called" | "users"> {
  return {
    name: textAt(message, 1),
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
