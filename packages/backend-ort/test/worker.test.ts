/** The engine in worker threads, besides the main thread's: the whole process shares one library. */
import { Worker } from "node:worker_threads";
import { GraphBuilder, type HostTensor, tensor } from "@mp/graph";
import { expect, it } from "vitest";
import { ort } from "../src/index.js";

/** The user's worker, with the built package: opens a backend, computes, and closes it or not. */
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
(async () => {
  const [{ ort }, { GraphBuilder }, { tensor }] = await Promise.all(workerData.modules.map((url) => import(url)));
  const backend = await ort();
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "f32", shape: [64, 64] }, "batch");
  const graph = builder.finish({ y: builder.emitOne("MatMul", [x, x], {}) });
  const executable = await backend.compile(graph);
  let sum = 0;
  for (let run = 0; run < 50; run++) {
    const { y } = await executable.run({ x: tensor(new Float32Array(64 * 64).fill(workerData.value), [64, 64]) });
    sum += y.data[0];
  }
  if (workerData.disposes) await backend.dispose();
  parentPort.postMessage(sum);
})();
`;

const modules = ["../dist/index.js", "../../core/dist/graph.js", "../../core/dist/index.js"].map((path) =>
  new URL(path, import.meta.url).toString(),
);

function inWorker(value: number, disposes: boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(PROGRAM, {
      eval: true,
      workerData: { value, disposes, modules },
      // Without the arguments that the test runner puts before every program.
      execArgv: [],
    });
    let sum = Number.NaN;
    worker.on("message", (message: number) => {
      sum = message;
    });
    worker.on("error", reject);
    worker.on("exit", (code) => (code === 0 ? resolve(sum) : reject(new Error(`exit code ${code}`))));
  });
}

const wanted = (value: number): number => 50 * 64 * value * value;

it("computes in several threads at once, whether they clean up or not", async () => {
  const backend = await ort();
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "f32", shape: [2] }, "batch");
  const executable = await backend.compile(builder.finish({ y: builder.emitOne("Add", [x, x], {}) }));
  const input: HostTensor = tensor(Float32Array.of(1, 2));
  const workers = Promise.all([inWorker(1, true), inWorker(2, false), inWorker(3, true)]);
  for (let run = 0; run < 100; run++) {
    expect((await executable.run({ x: input }))["y"]?.data[1]).toBe(4);
  }
  expect(await workers).toEqual([wanted(1), wanted(2), wanted(3)]);
  // When the workers ended, this thread's backend stayed intact.
  expect((await executable.run({ x: input }))["y"]?.data[0]).toBe(2);
  await backend.dispose();
  const again = await ort();
  expect(again.stats()).toEqual({ live: 0, bytes: 0 });
  await again.dispose();
});
