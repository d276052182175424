import { remat, type Tensor, tensor, valueAndGrad } from "@mp/core";
import { prepareGraph, traceInto } from "@mp/core/graph";
import { reduceSum, reduceSumSquare, tanh } from "@mp/core/ops";
import { median } from "../statistics.js";
import { uniformValues } from "../workloads/hash-values.js";
import type { Scenario } from "./scenario.js";

const SIDE = 2048;
const LAYERS = 48;
const SEGMENTS = 8;
const MEGABYTE = 2 ** 20;
/** A tenth above what liveness requires: the 48 activations. */
const KEPT_BAR = 1.1 * LAYERS * ((SIDE * SIDE * 4) / MEGABYTE);

const chain = (x: Tensor, layers: number): Tensor => (layers === 0 ? x : chain(tanh(x), layers - 1));

/** Σ tanh⁴⁸(x), with its layers in segments that are recomputed in the backward pass. */
function segmented(x: Tensor): Tensor {
  const segment = remat((input: Tensor) => chain(input, LAYERS / SEGMENTS));
  return reduceSum(Array.from({ length: SEGMENTS }).reduce<Tensor>((input) => segment(input), x));
}

/**
 * Memory of a chain of 48 tanh layers on a 2048 by 2048 tensor with its gradient, with activations stored and
 * recomputed. glibc does not return freed blocks below its threshold, so the process's own figure needs a low one.
 */
export const memory: Scenario = {
  title: "48 tanh layers of 16 MB with gradients",
  parts: ["kept", "recomputed"],
  environment: { MALLOC_MMAP_THRESHOLD_: "1048576" },
  run: async ({ backend, part, quick }) => {
    const lossOf = part === "recomputed" ? segmented : (x: Tensor) => reduceSum(chain(x, LAYERS));
    const type = { dtype: "f32", shape: [SIDE, SIDE] } as const;
    const { graph } = traceInto([{ name: "x", role: "batch", type }], ([x]) => {
      const { value, gradients } = valueAndGrad(lossOf)(x as Tensor);
      // The norm of the gradient, not the gradient: results are copied to the host, whose memory is not measured here.
      return { loss: value, norm: reduceSumSquare(gradients) };
    });
    const x = tensor(uniformValues(1, SIDE * SIDE, 1), [SIDE, SIDE]);
    const residentBefore = process.memoryUsage.rss();
    const executable = await backend.compile(prepareGraph(graph));
    const times: number[] = [];
    for (let run = 0; run < (quick ? 2 : 8); run++) {
      const startedAt = performance.now();
      await executable.run({ x });
      times.push(performance.now() - startedAt);
    }
    const held = executable.memory?.().peakBytes ?? Number.NaN;
    const resident = process.resourceUsage().maxRSS * 1024;
    await executable.dispose();
    return {
      figures: {
        engine: held / MEGABYTE,
        resident: resident / MEGABYTE,
        added: (resident - residentBefore) / MEGABYTE,
        milliseconds: median(times.slice(1)),
      },
    };
  },
  report: (measured) => [
    { name: "kept: engine's peak", value: measured("kept", "engine"), unit: "MB", bar: KEPT_BAR },
    { name: "kept: process's peak", value: measured("kept", "resident"), unit: "MB" },
    { name: "kept: process's peak over its start", value: measured("kept", "added"), unit: "MB", bar: 850 },
    { name: "kept: time", value: measured("kept", "milliseconds"), unit: "ms" },
    { name: "recomputed: engine's peak", value: measured("recomputed", "engine"), unit: "MB", bar: 256 },
    { name: "recomputed: process's peak", value: measured("recomputed", "resident"), unit: "MB" },
    {
      name: "recomputed: process's peak over its start",
      value: measured("recomputed", "added"),
      unit: "MB",
      bar: 300,
    },
    { name: "recomputed: time", value: measured("recomputed", "milliseconds"), unit: "ms" },
    {
      name: "time recomputed, of kept",
      value: measured("recomputed", "milliseconds") / measured("kept", "milliseconds"),
      unit: "times",
      bar: 1.4,
    },
  ],
};
