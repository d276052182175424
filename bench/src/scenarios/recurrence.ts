import { float32, key, sgd, type Tensor, tensor, trainer, zeros } from "@mp/core";
import { reduceMean, square } from "@mp/core/ops";
import { lstm } from "@mp/nn";
import { medianTime } from "../timing.js";
import { uniformValues } from "../workloads/hash-values.js";
import { FREED_BLOCKS_GO_BACK, megabytes, residentMemory, type Scenario } from "./scenario.js";

const STEPS = 200;
const BATCH = 32;
const CELLS = 256;

/** A training step of an LSTM over a long sequence, as a loop and with the time steps written out. */
export const recurrence: Scenario = {
  title: `A training step of an LSTM of ${CELLS} cells over ${STEPS} times, batch ${BATCH}, float32`,
  parts: ["unrolled", "looped"],
  environment: FREED_BLOCKS_GO_BACK,
  run: async ({ backend, part, quick }) => {
    const layer = lstm(CELLS, CELLS, { unroll: part === "unrolled" });
    const residentBefore = process.memoryUsage.rss();
    const startedAt = performance.now();
    const training = await trainer({
      backend,
      params: layer.init(key(1)),
      loss: (
        parameters,
        { x, hidden, cell }: { readonly x: Tensor; readonly hidden: Tensor; readonly cell: Tensor },
      ) => reduceMean(square(layer.apply(parameters, { x, state: { hidden, cell } }, undefined as never).y)),
      optimizer: sgd({ learningRate: 1e-3 }),
      precision: float32(),
    });
    const batch = {
      x: tensor(uniformValues(1, STEPS * BATCH * CELLS, 1), [STEPS, BATCH, CELLS]),
      hidden: zeros([BATCH, CELLS]),
      cell: zeros([BATCH, CELLS]),
    };
    await training.step(batch);
    const opened = performance.now() - startedAt;
    const step = await medianTime(() => training.step(batch), { warmup: 0, steps: quick ? 2 : 20 });
    const engine = megabytes((await training.peakBytes()) ?? Number.NaN);
    const { added } = residentMemory(residentBefore);
    const nodes = training.graph(batch).nodes.length;
    await training.dispose();
    return { milliseconds: step, opened, engine, resident: added, nodes };
  },
  report: (measured) => [
    ...["unrolled", "looped"].flatMap((part) => [
      { name: `${part}: time`, value: measured(part, "milliseconds"), unit: "ms" },
      { name: `${part}: until the first step is done`, value: measured(part, "opened"), unit: "ms" },
      { name: `${part}: engine's peak`, value: measured(part, "engine"), unit: "MB" },
      { name: `${part}: process's peak over its start`, value: measured(part, "resident"), unit: "MB" },
      { name: `${part}: nodes`, value: measured(part, "nodes"), unit: "" },
    ]),
    {
      name: "time in a loop, of unrolled",
      value: measured("looped", "milliseconds") / measured("unrolled", "milliseconds"),
      unit: "times",
      bar: 1.25,
    },
    {
      name: "engine's peak in a loop, of unrolled",
      value: measured("looped", "engine") / measured("unrolled", "engine"),
      unit: "times",
      bar: 1.1,
    },
  ],
};
