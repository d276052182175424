import type { ComputeDType } from "@mp/graph";

/** The rule by which a node got its dtype. */
export type CastRule =
  | "allow list"
  | "f32 list"
  | "deny list"
  | "downstream of a deny-list op"
  | "between low-precision ops"
  | "downstream of a low-precision op"
  | "no low-precision producer"
  | "not between low-precision ops"
  | "widest operand"
  | "every consumer is low-precision"
  | "parameters and scalars only"
  | "override"
  | "pure policy"
  | "constant beyond the half"
  | "no kernel"
  | "user cast"
  | "constant"
  | "inner policy"
  | "random draw"
  | "as written"
  | "not floating";

export interface CastDecision {
  /** The dtype that the node's floating operands are cast to; undefined if they stay as written. */
  readonly dtype: ComputeDType | undefined;
  readonly rule: CastRule;
  /** Detail that the rule's name lacks: the name of a node, op or scope, or a backend's reason. */
  readonly because?: string;
}
