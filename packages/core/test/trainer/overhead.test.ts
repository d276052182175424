import { createHook } from "node:async_hooks";
import type { Backend, HostTensor, State } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { expect, it } from "vitest";
import { batch, smallRun } from "../small-run.js";

/** Each is an object and a turn of the microtask queue; a step of today makes about a dozen. */
const MOST_PROMISES = 24;

/** An engine that takes no time and notes what it is asked for: what is left of a step is the trainer's own. */
async function instant(calls: string[]): Promise<Backend> {
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
  const noted =
    <A extends readonly unknown[], R>(call: string, run: (...args: A) => R) =>
    (...args: A): R => {
      calls.push(call);
      return run(...args);
    };
  return {
    name: "instant",
    specVersion: "v1",
    manifest: real.manifest,
    createState: noted("createState", async (values) => {
      const state = await real.createState(values);
      const watched: State = Object.assign(Object.create(state), {
        read: noted("read", (slots: Parameters<State["read"]>[0]) => state.read(slots)),
        write: noted("write", (slots: Parameters<State["write"]>[0]) => state.write(slots)),
      });
      return watched;
    }),
    upload: noted("upload", (given) => real.upload(given)),
    download: noted("download", (handle) => real.download(handle)),
    stats: noted("stats", () => real.stats()),
    dispose: () => real.dispose(),
    compile: noted("compile", async (graph, options) => {
      if (options?.applied === undefined) return real.compile(graph, {});
      return {
        warnings: [],
        run: noted("run", async () => outputs),
        dispose: async (): Promise<void> => undefined,
      };
    }),
  };
}

it("a step is one run of the engine and a few promises of the host", async () => {
  const calls: string[] = [];
  const training = await smallRun({ backend: await instant(calls) });
  const data = batch(0);
  for (let step = 0; step < 10; step++) await training.step(data);
  calls.length = 0;
  let promises = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === "PROMISE") promises++;
    },
  });
  hook.enable();
  const STEPS = 100;
  for (let step = 0; step < STEPS; step++) await training.step(data);
  hook.disable();
  expect(calls).toEqual(Array.from({ length: STEPS }, () => "run"));
  expect(promises / STEPS).toBeGreaterThan(0);
  expect(promises / STEPS).toBeLessThan(MOST_PROMISES);
  console.log(`promises a step: ${promises / STEPS}`);
});
