/**
 * The same graph and inputs give the same bits in every run where the manifest says so, and close ones where it does
 * not.
 */

import { float32, mixedFloat16, momentum, type Precision } from "@mp/core";
import type { BackendManifest, Graph, HostTensor } from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import { compareAtScale } from "../compare/graph-allowance.js";
import type { ConformanceCase } from "../conformance-case.js";
import { fail } from "../expectations.js";
import { generated } from "../host-data.js";
import { at, graphOf, typed } from "../small-graphs.js";
import { perceptron } from "../training/models.js";
import { scenarioCase } from "../training/scenario.js";
import { withTrainer } from "../training/session.js";
import type { Tensors } from "./kinds/graph-case.js";
import { scriptedCase, withExecutable } from "./kinds/scripted-case.js";

const RUNS = 5;

const isDeterministic = (manifest: BackendManifest): boolean =>
  unsupportedReason(manifest.determinism) === undefined;

function repeatedGraph(behaviour: string, graph: Graph, make: () => Tensors): ConformanceCase {
  return scriptedCase(`determinism/graph/${behaviour}`, graph, async (backend) => {
    const relative = isDeterministic(backend.manifest) ? 0 : 1e-4;
    const inputs = make();
    let first: Tensors | undefined;
    for (let turn = 0; turn < 2; turn++) {
      await withExecutable(backend, graph, async (executable) => {
        for (let run = 0; run < RUNS; run++) {
          const results = await executable.run(inputs);
          first ??= results;
          for (const [name, want] of Object.entries(first)) {
            const mismatch = compareAtScale(results[name], want, relative);
            if (mismatch !== undefined) fail(`${name} of run ${run}, beside the first, ${mismatch}`);
          }
        }
      });
    }
  });
}

const wave = (shape: readonly number[]): HostTensor =>
  generated("f32", shape, (place) => Math.sin(place * 0.7) * (1 + (place % 13)));

const graphs: readonly ConformanceCase[] = [
  repeatedGraph(
    "products",
    graphOf({
      inputs: { a: typed("f32", 96, 130), b: typed("f32", 130, 70) },
      outputs: (builder, inputs) => ({
        y: builder.emitOne("MatMul", [at(inputs, "a"), at(inputs, "b")], {}),
      }),
    }),
    () => ({ a: wave([96, 130]), b: wave([130, 70]) }),
  ),
  repeatedGraph(
    "sums",
    graphOf({
      inputs: { x: typed("f32", 50_021) },
      outputs: (builder, inputs) => ({
        y: builder.emitOne("ReduceSum", [at(inputs, "x")], { axes: [0], keepdims: false }),
      }),
    }),
    () => ({ x: wave([50_021]) }),
  ),
  // Many updates to few places: the order of the additions must not depend on which thread is first.
  repeatedGraph(
    "scattered-sums",
    graphOf({
      inputs: { x: typed("f32", 7), indices: typed("i32", 5000), updates: typed("f32", 5000) },
      outputs: (builder, inputs) => ({
        y: builder.emitOne(
          "ScatterElements",
          [at(inputs, "x"), at(inputs, "indices"), at(inputs, "updates")],
          {
            axis: 0,
            reduction: "add",
          },
        ),
      }),
    }),
    () => ({
      x: wave([7]),
      indices: generated("i32", [5000], (place) => (place * 3) % 7),
      updates: wave([5000]),
    }),
  ),
];

const trainings: readonly ConformanceCase[] = (
  [
    ["float32", float32],
    ["mixed-float16", mixedFloat16],
  ] as readonly (readonly [string, () => Precision])[]
).map(([name, precision]) =>
  scenarioCase<readonly Tensors[]>(
    `determinism/training/${name}`,
    async (backend, { create }) => {
      const { params, modelState, loss, batch } = perceptron;
      const optimizer = momentum({ learningRate: 0.1 });
      const states: Tensors[] = [];
      for (const one of [backend, backend, await create()]) {
        const options = {
          params: params(),
          modelState: modelState(),
          loss,
          optimizer,
          precision: precision(),
          seed: 5,
        };
        const state = await withTrainer(one, options, async ({ training, snapshot }) => {
          for (let step = 0; step < 6; step++) await training.step(batch(step) as never);
          return snapshot();
        });
        states.push(state);
      }
      return states;
    },
    ([first = {}, ...others], _want, manifest) => {
      const relative = isDeterministic(manifest) ? 0 : 1e-2;
      for (const state of others) {
        for (const [slot, want] of Object.entries(first)) {
          const mismatch = compareAtScale(state[slot], want, relative);
          if (mismatch !== undefined) fail(`the same training once more: ${slot} ${mismatch}`);
        }
      }
    },
  ),
);

export const determinismCases: readonly ConformanceCase[] = [...graphs, ...trainings];
