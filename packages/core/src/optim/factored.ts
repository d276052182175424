/** Adafactor's memory-saving second moments: the outer product of a matrix's row means and column means. */

import { mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { type DefaultedOptions, readOptions, withDefault } from "@mp/graph/internal";
import { add, div, expand, literal, mul, pow, reduceMean, sqrt, sub } from "@mp/graph/ops";
import { hyperparameter } from "./hyperparameter.js";
import { positiveEpsilon, square, stepNumber } from "./moments.js";
import type { GradientTransformation } from "./optimizer.js";
import { type StateOptions, stateOptions } from "./states/state-options.js";
import { direction } from "./transformation.js";

const SLOTS = { row: "nonNegative", column: "nonNegative" } as const;

export interface ScaleByFactoredRmsOptions extends StateOptions<keyof typeof SLOTS> {
  /** At step t the averages are multiplied by 1 - t^-decayPower; default 0.8. */
  readonly decayPower?: number;
  /** ε₁, added to the squares of the gradients; f32, at least 2^-100. Default 1e-30. */
  readonly epsilon?: number;
}

export const SCALE_BY_FACTORED_RMS: DefaultedOptions<ScaleByFactoredRmsOptions> = {
  ...stateOptions(SLOTS),
  decayPower: withDefault(0.8, hyperparameter({ from: 0, open: true })),
  epsilon: withDefault(1e-30, positiveEpsilon),
};

/**
 * `row` is the average of g² over the last axis and `column` over the last but one. A parameter of fewer than
 * two dimensions has its average of g², unreduced, in `row`, and a scalar 0 in `column`.
 */
export type FactoredState = { readonly row: TensorTree; readonly column: TensorTree };

/** Whether a parameter's second moments are factored. Parameters without elements have no means. */
const isFactored = ({ shape }: Tensor): boolean => shape.length > 1 && !shape.includes(0);

/**
 * The direction of Adafactor (Shazeer & Stern, arXiv 1804.04235, algorithm 4): g / √v, where v is row·column
 * / mean(row) over the last two axes if a parameter has two or more dimensions.
 */
export function scaleByFactoredRms(
  options: ScaleByFactoredRmsOptions = {},
): GradientTransformation<FactoredState> {
  return selectFactored(readOptions("scaleByFactoredRms", options, SCALE_BY_FACTORED_RMS));
}

/** Makes the transformation from checked options with all defaults filled in. */
export function selectFactored(
  settings: Required<ScaleByFactoredRmsOptions>,
): GradientTransformation<FactoredState> {
  const { decayPower, epsilon } = settings;
  return direction("scaleByFactoredRms", settings, {
    slots: SLOTS,
    scope: "leaf",
    init: (parameters) => ({
      row: mapTensors((w) => zeros(isFactored(w) ? w.shape.toSpliced(-1, 1, 1) : w.shape), parameters),
      column: mapTensors((w) => zeros(isFactored(w) ? w.shape.toSpliced(-2, 1, 1) : []), parameters),
    }),
    update: (gradients, state, _parameters, context) => {
      const share = pow(stepNumber(context), -decayPower);
      const average = (mean: Tensor, x: Tensor): Tensor => add(mul(mean, sub(1, share)), mul(x, share));
      const squares = mapTensors((g) => add(square(g), epsilon), gradients);
      const row = mapTensors((r, s) => average(r, isFactored(s) ? over(s, -1) : s), state.row, squares);
      const column = mapTensors(
        (c, s) => (isFactored(s) ? average(c, over(s, -2)) : c),
        state.column,
        squares,
      );
      // Two roots instead of one of a product, which would be below the range of f32.
      const updates = mapTensors(
        (g, r, c) => (isFactored(g) ? div(div(g, sqrt(div(r, over(r, -2)))), sqrt(c)) : div(g, sqrt(r))),
        gradients,
        row,
        column,
      );
      return { updates, state: { row, column } };
    },
  });
}

const zeros = (shape: readonly number[]): Tensor => expand(literal(0), shape);
const over = (x: Tensor, axis: number): Tensor => reduceMean(x, { axes: [axis], keepdims: true });
