import type { HostTensor } from "@mp/graph";
import type { Optimizer } from "../../optim/optimizer.js";
import type { Evaluation } from "./result.js";

/** The outputs of a run on the host, by name. */
export type Outputs = Readonly<Record<string, HostTensor>>;

export function numberIn(outputs: Outputs, name: string): number {
  const value = outputs[name]?.data[0];
  if (value === undefined) throw new Error(`internal: the program has no output ${name}`);
  return Number(value);
}

export const flagIn = (outputs: Outputs, name: string): boolean => numberIn(outputs, name) !== 0;

export const metricsIn = (outputs: Outputs): Readonly<Record<string, number>> =>
  numbersIn(outputs, "metrics/");

/** Fractions of elements below the range of their dtype, for each tensor of the optimizer's state. */
export const sharesIn = (outputs: Outputs): Readonly<Record<string, number>> =>
  numbersIn(outputs, "belowRange/");

/** Output with the loss's weight, in programs of a loss that returns a weight. */
export const WEIGHT = "weight";

/** Reads the loss's weight; undefined if the loss returns none. */
export const weightIn = (outputs: Outputs): number | undefined =>
  outputs[WEIGHT] === undefined ? undefined : numberIn(outputs, WEIGHT);

/** Reads loss, weight and metrics of an evaluated batch. */
export function evaluationIn(outputs: Outputs): Evaluation {
  const weight = weightIn(outputs);
  const weighted = weight === undefined ? {} : { weight };
  return { loss: numberIn(outputs, "loss"), ...weighted, metrics: metricsIn(outputs) };
}

/** The scalars whose names begin with `start`, by the rest of the name, which is empty for a tree of one leaf. */
export function numbersIn(outputs: Outputs, start: string): Readonly<Record<string, number>> {
  const numbers: [string, number][] = [];
  for (const name in outputs) {
    if (`${name}/`.startsWith(start)) numbers.push([name.slice(start.length), numberIn(outputs, name)]);
  }
  // Assigning would lose a metric called `__proto__`.
  return Object.fromEntries(numbers);
}

/** The learning rates of a step by group: constants, or outputs of the program. */
export function ratesIn(
  outputs: Outputs,
  { learningRates = {} }: Pick<Optimizer, "learningRates">,
): Readonly<Record<string, number>> {
  const computed = numbersIn(outputs, "rates/");
  const rates = Object.entries(learningRates).map(([group, rate]) => {
    return [group, typeof rate === "number" ? rate : (computed[group] as number)] as const;
  });
  return Object.fromEntries(rates);
}

/** f32 scalars by name. */
export const scalars = (names: readonly string[], of: (name: string) => number): Outputs =>
  Object.fromEntries(
    names.map((name) => [name, { dtype: "f32", shape: [], data: Float32Array.of(of(name)) } as const]),
  );

/** Weighted means of scalar outputs over microbatches, and the total of the weights if the loss returns them. */
export function averageOutputs(outputs: readonly Outputs[]): Outputs {
  const names = Object.keys(outputs[0] ?? {});
  const weights = outputs.map((output) => weightIn(output) ?? 1);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return scalars(names, (name) =>
    name === WEIGHT
      ? total
      : weightedSum(
          outputs.map((output) => numberIn(output, name)),
          weights,
        ) / total,
  );
}

/** Σ weight · number; a number of weight 0 does not count, even if it is NaN. */
export const weightedSum = (numbers: readonly number[], weights: readonly number[]): number =>
  numbers.reduce((sum, number, at) => (weights[at] === 0 ? sum : sum + (weights[at] as number) * number), 0);
