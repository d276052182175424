/**
 * The same graph and inputs give the same bits in every run if the manifest says so, otherwise results within the
 * tolerance.
 */
import type { BackendManifest, Graph, Handle, HostTensor } from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import { compareAtScale } from "../compare/graph-allowance.js";
import type { ConformanceCase } from "../conformance-case.js";
import { fail } from "../expectations.js";
import { generate } from "../host-data.js";
import { at, buildGraph, valueType } from "../small-graphs.js";
import type { Tensors } from "./kinds/graph-case.js";
import { scriptedCase, withExecutable } from "./kinds/scripted-case.js";

const RUNS = 5;

export const isDeterministic = (manifest: BackendManifest): boolean =>
  unsupportedReason(manifest.determinism) === undefined;

function repeatCase(behaviour: string, graph: Graph, make: () => Tensors): ConformanceCase {
  return scriptedCase(`determinism/graph/${behaviour}`, graph, async (backend) => {
    const relative = isDeterministic(backend.manifest) ? 0 : 1e-4;
    const inputs = make();
    let first: Tensors | undefined;
    const handles = new Map<string, Handle>();
    for (const [name, tensor] of Object.entries(inputs)) handles.set(name, await backend.upload(tensor));
    for (const given of [inputs, Object.fromEntries(handles)]) {
      await withExecutable(backend, graph, async (executable) => {
        for (let run = 0; run < RUNS; run++) {
          const results = await executable.run(given);
          first ??= results;
          for (const [name, want] of Object.entries(first)) {
            const mismatch = compareAtScale(results[name], want, relative);
            if (mismatch !== undefined) fail(`${name} of run ${run}, beside the first, ${mismatch}`);
          }
        }
      });
    }
    for (const handle of handles.values()) handle.dispose();
  });
}

const wave = (shape: readonly number[]): HostTensor =>
  generate("f32", shape, (place) => Math.sin(place * 0.7) * (1 + (place % 13)));

export const determinismCases: readonly ConformanceCase[] = [
  repeatCase(
    "products",
    buildGraph({
      inputs: { a: valueType("f32", 96, 130), b: valueType("f32", 130, 70) },
      outputs: (builder, inputs) => ({
        y: builder.emitOne("MatMul", [at(inputs, "a"), at(inputs, "b")], {}),
      }),
    }),
    () => ({ a: wave([96, 130]), b: wave([130, 70]) }),
  ),
  repeatCase(
    "sums",
    buildGraph({
      inputs: { x: valueType("f32", 50_021) },
      outputs: (builder, inputs) => ({
        y: builder.emitOne("ReduceSum", [at(inputs, "x")], { axes: [0], keepdims: false }),
      }),
    }),
    () => ({ x: wave([50_021]) }),
  ),
  // Many updates to few places, where the order of the additions must not depend on which thread is first.
  repeatCase(
    "scattered-sums",
    buildGraph({
      inputs: { x: valueType("f32", 7), indices: valueType("i32", 5000), updates: valueType("f32", 5000) },
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
      indices: generate("i32", [5000], (place) => (place * 3) % 7),
      updates: wave([5000]),
    }),
  ),
];
