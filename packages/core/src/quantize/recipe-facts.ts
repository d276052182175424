import type { DelayedScaling } from "./delayed-scaling.js";
import type { ReadRule } from "./rule.js";

/** Kind of values that an operand of a product holds. */
export type OperandRole = "input" | "weight" | "gradient";

export const OPERAND_ROLES: readonly OperandRole[] = ["input", "weight", "gradient"];

/** A recipe as data, with all defaults filled in. */
export interface RecipeFacts {
  readonly name: string;
  readonly rules: Readonly<Record<OperandRole, ReadRule>>;
  readonly hadamard: boolean;
  readonly scaling?: DelayedScaling | undefined;
  readonly products: "weights" | "all";
  readonly scopes: Readonly<Record<string, boolean>>;
}
