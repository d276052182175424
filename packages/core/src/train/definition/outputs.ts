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

/** Fractions of the optimizer's state below the range of its dtypes, by tensor. */
export const sharesIn = (outputs: Outputs): Readonly<Record<string, number>> =>
  numbersIn(outputs, "belowRange/");

/** Reads loss and metrics of an evaluated batch. */
export function evaluationIn(outputs: Outputs): Evaluation {
  return { loss: numberIn(outputs, "loss"), metrics: metricsIn(outputs) };
}

/** The scalars whose names begin with `start`, by the rest of their names. */
function numbersIn(outputs: Outputs, start: string): Readonly<Record<string, number>> {
  const numbers: [string, number][] = [];
  for (const name in outputs) {
    if (name.startsWith(start)) numbers.push([name.slice(start.length), numberIn(outputs, name)]);
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

/** Mean of scalar outputs over microbatches. */
export function averageOutputs(outputs: readonly Outputs[]): Outputs {
  const names = Object.keys(outputs[0] ?? {});
  return Object.fromEntries(
    names.map((name) => {
      const sum = outputs.reduce((total, output) => total + numberIn(output, name), 0);
      return [name, { dtype: "f32", shape: [], data: Float32Array.of(sum / outputs.length) } as const];
    }),
  );
}
