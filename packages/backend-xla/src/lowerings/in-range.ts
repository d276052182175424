import type { Emitter } from "../stablehlo/emitter.js";
import { reduce } from "../stablehlo/fold.js";
import { type Operand, range, rankOf } from "../stablehlo/operand.js";

/** Emits for each element whether it is at least 0 and below the limit. */
export const isInside = (emitter: Emitter, x: Operand, limit: Operand | number): Operand =>
  emitter.binary("and", emitter.compare("GE", x, 0), emitter.compare("LT", x, limit));

/** Makes a run fail unless all elements of `flags` are true. */
export const expectAll = (emitter: Emitter, flags: Operand): void =>
  emitter.expectInRange(reduce(emitter, "and", flags, range(rankOf(flags))));
