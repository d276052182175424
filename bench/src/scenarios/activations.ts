import { float32, mixedBfloat16, type Precision, sgd, tensor } from "@mp/core";
import { relu } from "@mp/core/ops";
import { dense, meanSquaredError } from "@mp/nn";
import { uniformValues } from "../workloads/hash-values.js";
import { initialValues } from "../workloads/initial-values.js";
import { defineWorkload, type Workload } from "../workloads/workload.js";
import { FREED_BLOCKS_GO_BACK, residentMemory, type Scenario } from "./scenario.js";

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
  const layers = [dense(NARROW, WIDE), dense(WIDE, NARROW)] as const;
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
        weights.reduce((input, own, index) => {
          const layer = layers[index % 2] as (typeof layers)[0];
          return layer.apply(own, index === 0 ? input : relu(input));
        }, x),
        y,
      ),
    optimizer: sgd({ learningRate: 1e-3 }),
    matrixFlops: 6 * BATCH * NARROW * WIDE * LAYERS,
  });
}

/** Measures the memory that mixed precision saves where activations take most of a step's memory. */
export const activations: Scenario = {
  title:
    "peak memory of 8 layers of 32 to 32768 units and back, batch 2048, in mixed_bfloat16 beside float32",
  parts: Object.keys(precisions),
  environment: FREED_BLOCKS_GO_BACK,
  run: async ({ backend, part, quick }) => {
    const workload = wideMlp();
    const residentBefore = process.memoryUsage.rss();
    const training = await workload.train(backend, (precisions[part] as () => Precision)());
    for (let step = 0; step < (quick ? 2 : 8); step++) await training.step();
    const figures = residentMemory(residentBefore);
    await training.dispose();
    return { ...figures };
  },
  report: (measured) => {
    const ratio = (figure: string): number =>
      measured("mixed_bfloat16", figure) / measured("float32", figure);
    return [
      ...Object.keys(precisions).flatMap((part) => [
        { name: `${part}: process's peak`, value: measured(part, "resident"), unit: "MB" },
        { name: `${part}: over its start`, value: measured(part, "added"), unit: "MB" },
      ]),
      { name: "process's peak, of float32's", value: ratio("resident"), unit: "times", bar: 0.65 },
      { name: "over its start, of float32's", value: ratio("added"), unit: "times" },
    ];
  },
};
