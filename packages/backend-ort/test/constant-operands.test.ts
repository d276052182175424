// The cases of single operators again, with all operands but the first constant, so that the engine's own optimizer gets
// each operator: a part of them, since one session is loaded for each sample.
import { allCases, runConformance } from "@mp/conformance";
import type { Backend, Executable } from "@mp/graph";
import { expect, it } from "vitest";
import { ort } from "../src/index.js";

const EVERY = 16;

const cases = allCases.filter(
  ({ id }, at) => id.startsWith("op/") && (at % EVERY === 0 || id.endsWith("/pads-of-a-kernels-size")),
);

/** The engine, with operands in constant states; `folded` counts the runs. */
function foldingOperands(engine: Backend, folded: () => void): Backend {
  const compile: Backend["compile"] = async (graph, options) => {
    const plain = await engine.compile(graph, options);
    const held = graph.inputs.slice(1).map(({ name }) => name);
    if (options?.state !== undefined || held.length === 0) return plain;
    const run: Executable["run"] = async (inputs) => {
      const values = Object.fromEntries(
        held.flatMap((name) => {
          const value = inputs[name];
          return value !== undefined && "data" in value ? [[name, value] as const] : [];
        }),
      );
      // A state is made of host data: handles stay operands.
      if (Object.keys(values).length < held.length) return plain.run(inputs);
      const state = await engine.createState(values, { constant: true });
      try {
        const bindings = held.map((name) => ({ slot: name, input: name }));
        const executable = await engine.compile(graph, { state, bindings });
        folded();
        try {
          return await executable.run(
            Object.fromEntries(Object.entries(inputs).filter(([name]) => !held.includes(name))),
          );
        } finally {
          await executable.dispose();
        }
      } finally {
        await state.dispose();
      }
    };
    return { warnings: plain.warnings, run, dispose: () => plain.dispose() };
  };
  return {
    name: engine.name,
    specVersion: "v1",
    manifest: engine.manifest,
    compile,
    createState: (values, options) => engine.createState(values, options),
    upload: (value) => engine.upload(value),
    download: (handle) => engine.download(handle),
    stats: () => engine.stats(),
    dispose: async () => {},
  };
}

it("computes every operator of constant operands as of any others", async () => {
  const engine = await ort({ threads: 1 });
  let runs = 0;
  const factory = async (): Promise<Backend> => foldingOperands(engine, () => runs++);
  const { outcomes } = await runConformance({ factory, cases });
  await engine.dispose();
  const failed = outcomes.filter(({ status }) => status === "failed");
  expect(failed.map(({ id, detail }) => `${id}: ${detail}`)).toEqual([]);
  expect(runs).toBeGreaterThan(cases.length / 2);
});
