import { expect, it } from "vitest";
import { batch, smallRun } from "../../test/small-run.js";
import type { Backend } from "../backend.js";
import type { HostTensor } from "../host-tensor.js";
import { reference } from "../reference/index.js";

const LIMIT_MICROSECONDS = 50;

/** An engine that takes no time: what is left of a step is the trainer's own. */
async function instant(): Promise<Backend> {
  const real = await reference();
  const scalar = (dtype: HostTensor["dtype"], data: HostTensor["data"]) =>
    ({ dtype, shape: [], data }) as HostTensor;
  const outputs = {
    loss: scalar("f32", Float32Array.of(1)),
    applied: scalar("bool", Uint8Array.of(1)),
    again: scalar("bool", Uint8Array.of(0)),
    scale: scalar("f32", Float32Array.of(1)),
    gradNorm: scalar("f32", Float32Array.of(1)),
    consecutiveSkips: scalar("i32", Int32Array.of(0)),
    "metrics/error": scalar("f32", Float32Array.of(1)),
  };
  return {
    name: "instant",
    specVersion: "v1",
    manifest: real.manifest,
    createState: (values) => real.createState(values),
    upload: (given) => real.upload(given),
    download: (handle) => real.download(handle),
    stats: () => real.stats(),
    dispose: () => real.dispose(),
    compile: async (graph, options) => {
      const executable = await real.compile(graph, options);
      if (options?.applied === undefined) return executable;
      return { warnings: [], run: async () => outputs, dispose: () => executable.dispose() };
    },
  };
}

it("a step costs the host a few microseconds beside the engine's work", async () => {
  const training = await smallRun({ backend: await instant() });
  const data = batch(0);
  const turns: number[] = [];
  for (let turn = 0; turn < 12; turn++) {
    const start = performance.now();
    for (let step = 0; step < 500; step++) await training.step(data);
    turns.push(((performance.now() - start) / 500) * 1000);
  }
  // The machine may be busy in any one of them.
  expect(Math.min(...turns)).toBeLessThan(LIMIT_MICROSECONDS);
});
