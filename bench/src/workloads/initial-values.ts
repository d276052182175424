import { type HostTensor, type Shape, tensor, zeros } from "@mp/core";
import { elementCount } from "@mp/core/graph";
import { uniformValues } from "./hash-values.js";

/** The seed of a workload's first parameter; each further parameter, also a constant, takes the next seed. */
const FIRST_SEED = 100;

export interface InitialValues {
  uniform(shape: Shape, limit: number): HostTensor<"f32">;
  zeros(shape: Shape): HostTensor<"f32">;
  ones(shape: Shape): HostTensor<"f32">;
}

/** Draws parameters one after another, because their order is part of a workload's definition. */
export function initialValues(): InitialValues {
  let seed = FIRST_SEED;
  return {
    uniform: (shape, limit) =>
      tensor(uniformValues(seed++, elementCount(shape, "initial value"), limit), shape),
    zeros: (shape) => {
      seed++;
      return zeros(shape);
    },
    ones: (shape) => {
      seed++;
      return tensor(new Float32Array(elementCount(shape, "initial value")).fill(1), shape);
    },
  };
}
