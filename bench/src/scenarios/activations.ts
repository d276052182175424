import { float32, mixedBfloat16, type Precision, sgd, tensor } from "@mp/core";
import { relu } from "@mp/core/ops";
import { dense, meanSquaredError } from "@mp/nn";
import { uniformValues } from "../workloads/hash-values.js";
import { initialValues } from "../workloads/initial-values.js";
import { defineWorkload, type Workload } from "../workloads/workload.js";
import type { Scenario } from "./scenario.js";

const MEGABYTE = 2 ** 20;
const BATCH = 2048;
const NARROW = 32;
const WIDE = 32_768;
const LAYERS = 8;
const precisions: Readonly<Record<string, () => Precision>> = { float32, mixed_bfloat16: mixedBfloat16 };

/** Dense layers that alternately widen and narrow, so that activations outweigh parameters thirty to one. */
function wideMlp(): Workload {
  const draw = initialValues();
  const sizes = Array.from({ length: LAYERS }, (_, index) =>
    index % 2 === 0 ? ([NARROW, WIDE] as const) : ([WIDE, NARROW] as const),
  );
  const layers = sizes.map(([inputs, outputs]) => dense(inputs, outputs));
  const params = sizes.map(([inputs, outputs]) => ({
    kernel: draw.uniform([inputs, outputs], Math.sqrt(6 / inputs)),
    bias: draw.zeros([outputs]),
  }));
  const data = (seed: number) => tensor(uniformValues(seed, BATCH * NARROW, 1), [BATCH, NARROW]);
  return defineWorkload({
    title: `${LAYERS} layers of ${NARROW} to ${WIDE} and back, batch ${BATCH}`,
    params,
    batch: { x: data(1), y: data(2) },
    loss: (weights, { x, y }) =>
      meanSquaredError(
        layers.reduce((input, layer, index) => {
          const own = weights[index];
          if (own === undefined) throw new RangeError(`layer ${index} has no weights`);
          return layer.apply(own, index === 0 ? input : relu(input));
        }, x),
        y,
      ),
    optimizer: sgd({ learningRate: 1e-3 }),
    matrixFlops: 6 * BATCH * NARROW * WIDE * LAYERS,
  });
}

/** Measures the memory that halves save where activations take most of a step's memory. */
export const activations: Scenario = {
  title:
    "peak memory of 8 layers of 32 to 32768 units and back, batch 2048, in mixed_bfloat16 beside float32",
  parts: Object.keys(precisions),
  environment: { MALLOC_MMAP_THRESHOLD_: "1048576" },
  run: async ({ backend, part, quick }) => {
    const workload = wideMlp();
    const residentBefore = process.memoryUsage.rss();
    const training = await workload.train(backend, (precisions[part] as () => Precision)());
    for (let step = 0; step < (quick ? 2 : 8); step++) await training.step();
    const resident = process.resourceUsage().maxRSS * 1024;
    await training.dispose();
    return {
      figures: { resident: resident / MEGABYTE, added: (resident - residentBefore) / MEGABYTE },
    };
  },
  report: (measured) => [
    { name: "float32: process's peak", value: measured("float32", "resident"), unit: "MB" },
    { name: "float32: over its start", value: measured("float32", "added"), unit: "MB" },
    { name: "mixed_bfloat16: process's peak", value: measured("mixed_bfloat16", "resident"), unit: "MB" },
    { name: "mixed_bfloat16: over its start", value: measured("mixed_bfloat16", "added"), unit: "MB" },
    {
      name: "process's peak, of float32's",
      value: measured("mixed_bfloat16", "resident") / measured("float32", "resident"),
      unit: "times",
      bar: 0.65,
    },
    {
      name: "over its start, of float32's",
      value: measured("mixed_bfloat16", "added") / measured("float32", "added"),
      unit: "times",
    },
  ],
};
