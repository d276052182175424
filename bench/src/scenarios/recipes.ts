import { float8, float32, mxfp8, nvfp4, type Precision } from "@mp/core";
import { interleave, milliseconds } from "../timing.js";
import { encoder } from "../workloads/encoder.js";
import { mlp } from "../workloads/mlp.js";
import type { Workload } from "../workloads/workload.js";
import type { Figure, Scenario } from "./scenario.js";

const workloads: Readonly<Record<string, () => Workload>> = { w1: mlp, w4: encoder };

const precisions: Readonly<Record<string, () => Precision>> = { float32, float8, mxfp8, nvfp4 };

/** How many times float32's step that of a recipe may take. */
const BARS: Readonly<Record<string, number>> = { float8: 2, mxfp8: 2.5, nvfp4: 5 };

const FIRST_STEP_BAR = 3;

/** Steps whose products are quantized, by emulation, compared with float32: the first, with its compilation, and later ones. */
export const recipesBesideFloat32: Scenario = {
  title: "recipes of 8 and 4 bits beside float32",
  parts: Object.keys(workloads),
  run: async ({ backend, part, quick }) => {
    const workload = workloads[part]?.() as Workload;
    const firsts: Record<string, number> = {};
    const steps: Record<string, () => Promise<unknown>> = {};
    const disposals: (() => Promise<void>)[] = [];
    for (const [name, precision] of Object.entries(precisions)) {
      const training = await workload.train(backend, precision());
      firsts[`${name} first`] = await milliseconds(() => training.step());
      steps[name] = () => training.step();
      disposals.push(() => training.dispose());
    }
    const figures = await interleave(steps, quick ? { warmup: 0, steps: 1 } : { warmup: 2, steps: 15 });
    for (const dispose of disposals) await dispose();
    return { ...figures, ...firsts };
  },
  report: (measured) =>
    Object.keys(workloads).flatMap((part) => [
      { name: `${part} in float32`, value: measured(part, "float32"), unit: "ms" },
      ...Object.entries(BARS).flatMap(([name, bar]): readonly Figure[] => {
        const times = (suffix: string) => ({
          value: measured(part, `${name}${suffix}`) / measured(part, `float32${suffix}`),
          unit: "times",
        });
        return [
          { name: `${part} in ${name}, of float32`, ...times(""), bar },
          { name: `${part}, first step in ${name}, of float32`, ...times(" first"), bar: FIRST_STEP_BAR },
        ];
      }),
    ]),
};
