/** Shared by recurrent layers: parameters for gates along the last axis, and the checks of a sequence. */
import { foldIn, type HostTensor, type Key, MpError, type Tensor } from "@mp/core";
import { add, matMul, reshape, split } from "@mp/core/ops";
import { constantValue, type Initializer } from "./initializers.js";

export type RecurrentParameters = {
  /** [inputs, gates · cells] */
  readonly input: HostTensor<"f32">;
  /** [cells, gates · cells] */
  readonly recurrent: HostTensor<"f32">;
  /** [gates · cells] */
  readonly bias: HostTensor<"f32">;
};

export interface Gates {
  readonly inputs: number;
  readonly cells: number;
  readonly count: number;
}

export function initRecurrent(
  key: Key,
  { inputs, cells, count }: Gates,
  initializers: { readonly input: Initializer; readonly recurrent: Initializer },
): RecurrentParameters {
  const width = count * cells;
  return {
    input: initializers.input(foldIn(key, "input"), [inputs, width], inputs, width),
    recurrent: initializers.recurrent(foldIn(key, "recurrent"), [cells, width], cells, width),
    bias: constantValue(0)(foldIn(key, "bias"), [width], inputs, cells),
  };
}

interface Sequence {
  readonly time: number;
  readonly batch: number;
  /** The inputs' part of the gates at each time, [batch, gates · cells]. */
  readonly steps: readonly Tensor[];
}

/**
 * The input projection of all steps, one product before the recurrence.
 * @throws MP_SHAPE_MISMATCH for x that is not [time, batch, inputs], and states that are not [batch, cells]
 */
export function projected(
  layer: string,
  { inputs, cells }: Gates,
  parameters: { readonly input: Tensor; readonly bias: Tensor },
  x: Tensor,
  states: Readonly<Record<string, Tensor>>,
): Sequence {
  const [time, batch, size] = x.shape;
  if (time === undefined || batch === undefined || size !== inputs || x.shape.length !== 3) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `${layer}: takes [time, batch, ${inputs}], got [${x.shape.join(", ")}]`,
    );
  }
  for (const [name, state] of Object.entries(states)) {
    if (state.shape.join() === `${batch},${cells}`) continue;
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `${layer}: the ${name} state of a batch of ${batch} is [${batch}, ${cells}], got [${state.shape.join(", ")}]`,
    );
  }
  const product = add(matMul(reshape(x, [time * batch, inputs]), parameters.input), parameters.bias);
  return { time, batch, steps: split(product, time, 0) };
}
