import type { Tensor } from "@mp/core";
import type { GradientSample } from "../gradient-sample.js";

export type Unary = (x: Tensor) => Tensor;

/** `fn` of its first operand, ignoring other operands. */
export const of1 =
  (fn: Unary): GradientSample["fn"] =>
  (x) =>
    fn(x as Tensor);

export const of2 =
  (fn: (a: Tensor, b: Tensor) => Tensor): GradientSample["fn"] =>
  (a, b) =>
    fn(a as Tensor, b as Tensor);

export const of3 =
  (fn: (a: Tensor, b: Tensor, c: Tensor) => Tensor): GradientSample["fn"] =>
  (a, b, c) =>
    fn(a as Tensor, b as Tensor, c as Tensor);

export const STEPS = { none: "constant between its steps" };

export const PREDICATE = { none: "gives no float" };

export const SOURCE = { none: "has no floating operand" };
