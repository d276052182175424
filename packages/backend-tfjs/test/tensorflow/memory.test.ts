import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { prepareGraph, remat, type Tensor, traceInto, valueAndGrad, zeros } from "@mp/graph";
import { reduceSum, reduceSumSquare, tanh } from "@mp/graph/ops";
import { expect, test } from "vitest";
import { tfjs } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

const SIDE = 1024;
const LAYER_BYTES = 4 * SIDE * SIDE;
const LAYERS = 48;
const SEGMENTS = 8;
const type = { dtype: "f32", shape: [SIDE, SIDE] } as const;

const chain = (x: Tensor, layers: number): Tensor => (layers === 0 ? x : chain(tanh(x), layers - 1));

/** Σ tanh⁴⁸(x), with its layers in segments that are recomputed in the backward pass. */
function segmented(x: Tensor): Tensor {
  const segment = remat((input: Tensor) => chain(input, LAYERS / SEGMENTS));
  return reduceSum(Array.from({ length: SEGMENTS }).reduce<Tensor>((input) => segment(input), x));
}

/** Files in which Linux reports a process's peak memory, and lets it be reset. */
const PEAK = { reset: "/proc/self/clear_refs", status: "/proc/self/status" };

function residentBytes(field: "VmHWM" | "VmRSS"): number {
  const [, kilobytes] = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(PEAK.status, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

await withTensorFlow((tf) => {
  if (!existsSync(PEAK.reset)) return;

  /** Peak memory in units of a layer's size, without the memory that the process used before. */
  async function peak(lossOf: (x: Tensor) => Tensor): Promise<number> {
    const backend = await tfjs({ tf });
    const { graph } = traceInto([{ name: "x", role: "batch", type }], ([x]) => {
      const { value, gradients } = valueAndGrad(lossOf)(x as Tensor);
      return { loss: value, norm: reduceSumSquare(gradients) };
    });
    const executable = await backend.compile(prepareGraph(graph));
    const x = await backend.upload(zeros([SIDE, SIDE]));
    writeFileSync(PEAK.reset, "5");
    const before = residentBytes("VmRSS");
    for (let run = 0; run < 3; run++) await executable.run({ x });
    const bytes = residentBytes("VmHWM") - before;
    await backend.dispose();
    return bytes / LAYER_BYTES;
  }

  test("a segment's activations are gone until its gradient comes, whatever TensorFlow would share", async () => {
    const recomputed = await peak(segmented);
    const kept = await peak((x) => reduceSum(chain(x, LAYERS)));
    // The process still keeps part of what the first run freed.
    expect(kept).toBeGreaterThan(0.6 * LAYERS);
    expect(kept).toBeLessThan(1.15 * LAYERS);
    expect(recomputed).toBeLessThan(0.4 * LAYERS);
  });
});
