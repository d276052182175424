import type { HostTensor } from "../../host-tensor.js";

/** The results of a run on the host, by output name. */
export type Outputs = Readonly<Record<string, HostTensor>>;

const METRICS = "metrics/";

export function numberIn(outputs: Outputs, name: string): number {
  const value = outputs[name]?.data[0];
  if (value === undefined) throw new Error(`internal: the program has no output ${name}`);
  return Number(value);
}

export const flagIn = (outputs: Outputs, name: string): boolean => numberIn(outputs, name) !== 0;

export function metricsIn(outputs: Outputs): Readonly<Record<string, number>> {
  const metrics: [string, number][] = [];
  for (const name in outputs) {
    if (name.startsWith(METRICS)) metrics.push([name.slice(METRICS.length), numberIn(outputs, name)]);
  }
  // Assigning would lose a metric called `__proto__`.
  return Object.fromEntries(metrics);
}

/** Mean of scalar outputs over microbatches. */
export function meanOf(outputs: readonly Outputs[]): Outputs {
  const names = Object.keys(outputs[0] ?? {});
  return Object.fromEntries(
    names.map((name) => {
      const sum = outputs.reduce((total, output) => total + numberIn(output, name), 0);
      return [name, { dtype: "f32", shape: [], data: Float32Array.of(sum / outputs.length) } as const];
    }),
  );
}
