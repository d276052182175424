import { remat, type Tensor, tensor, valueAndGrad } from "@mp/core";
import { prepareGraph, traceInto } from "@mp/core/graph";
import { reduceSum, reduceSumSquare, tanh } from "@mp/core/ops";
import { medianTime } from "../timing.js";
import { uniformValues } from "../workloads/hash-values.js";
import { FREED_BLOCKS_GO_BACK, megabytes, residentMemory, type Scenario } from "./scenario.js";

const SIDE = 2048;
const LAYERS = 48;
const SEGMENTS = 8;
/** Limits of the peaks, in megabytes: stored activations may take a tenth more than the 48 layers' results. */
const BARS: Readonly<Record<string, { readonly engine: number; readonly added: number }>> = {
  kept: { engine: 1.1 * LAYERS * megabytes(SIDE * SIDE * 4), added: 850 },
  recomputed: { engine: 256, added: 300 },
};

const chain = (x: Tensor, layers: number): Tensor => (layers === 0 ? x : chain(tanh(x), layers - 1));

/** Σ tanh⁴⁸(x), with its layers in segments that are recomputed in the backward pass. */
function lossInSegments(x: Tensor): Tensor {
  const segment = remat((input: Tensor) => chain(input, LAYERS / SEGMENTS));
  return reduceSum(Array.from({ length: SEGMENTS }).reduce<Tensor>((input) => segment(input), x));
}

/**
 * Memory of a chain of 48 tanh layers on a 2048 by 2048 tensor with its gradient, with activations stored and
 * recomputed.
 */
export const memory: Scenario = {
  title: "48 tanh layers of 16 MB with gradients",
  parts: Object.keys(BARS),
  environment: FREED_BLOCKS_GO_BACK,
  run: async ({ backend, part, quick }) => {
    const lossOf = part === "recomputed" ? lossInSegments : (x: Tensor) => reduceSum(chain(x, LAYERS));
    const type = { dtype: "f32", shape: [SIDE, SIDE] } as const;
    const { graph } = traceInto([{ name: "x", role: "batch", type }], ([x]) => {
      const { value, gradients } = valueAndGrad(lossOf)(x as Tensor);
      // The norm of the gradient, not the gradient, since results are copied to the host, whose memory does not count.
      return { loss: value, norm: reduceSumSquare(gradients) };
    });
    const x = tensor(uniformValues(1, SIDE * SIDE, 1), [SIDE, SIDE]);
    const residentBefore = process.memoryUsage.rss();
    const executable = await backend.compile(prepareGraph(graph));
    const milliseconds = await medianTime(() => executable.run({ x }), { warmup: 1, steps: quick ? 1 : 7 });
    const engine = megabytes(executable.memory?.().peakBytes ?? Number.NaN);
    const figures = { engine, ...residentMemory(residentBefore), milliseconds };
    await executable.dispose();
    return figures;
  },
  report: (measured) => [
    ...Object.entries(BARS).flatMap(([part, bars]) => [
      { name: `${part}: engine's peak`, value: measured(part, "engine"), unit: "MB", bar: bars.engine },
      { name: `${part}: process's peak`, value: measured(part, "resident"), unit: "MB" },
      {
        name: `${part}: process's peak over its start`,
        value: measured(part, "added"),
        unit: "MB",
        bar: bars.added,
      },
      { name: `${part}: time`, value: measured(part, "milliseconds"), unit: "ms" },
    ]),
    {
      name: "time recomputed, of kept",
      value: measured("recomputed", "milliseconds") / measured("kept", "milliseconds"),
      unit: "times",
      bar: 1.4,
    },
  ],
};
