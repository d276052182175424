/** Saves models with tfjs in a folder, and runs the models that are read from it on the oracle. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Traced } from "@mp/core";
import { type HostTensor, isHostTensor, key, leavesOf, rebuildTree, type Tensor, traceInto } from "@mp/graph";
import { evaluateRaw, type RawTensor } from "@mp/graph/reference";
import type * as tfjs from "@tensorflow/tfjs";
import type { TfjsModel, TfjsTensors } from "../src/index.js";

export type Artifacts = Parameters<Parameters<typeof tfjs.io.withSaveHandler>[0]>[0];

/** A folder that is removed at the end. */
export async function temporaryFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "mp-tfjs-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** Saves a model as JSON and weights. */
export async function artifactsOf(model: tfjs.LayersModel): Promise<Artifacts> {
  const saved: Artifacts[] = [];
  await model.save({
    save: async (artifacts) => {
      saved.push(artifacts);
      return { modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: "JSON" } };
    },
  });
  return saved[0] as Artifacts;
}

/** Writes files as tfjs does; `changes` replaces fields of the JSON. */
export async function write(
  folder: string,
  { modelTopology, weightSpecs, weightData }: Artifacts,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const path = join(folder, "model.json");
  const weightsManifest = [{ paths: ["weights.bin"], weights: weightSpecs }];
  await writeFile(
    path,
    JSON.stringify({ format: "layers-model", modelTopology, weightsManifest, ...changes }),
  );
  const parts = Array.isArray(weightData) ? weightData : [weightData as ArrayBuffer];
  await writeFile(join(folder, "weights.bin"), Buffer.concat(parts.map((part) => Buffer.from(part))));
  return path;
}

type Named<T> = Readonly<Record<string, T>>;

/** The outputs by name, in doubles. */
export function outputsOf(
  model: TfjsModel,
  inputs: Named<HostTensor>,
  options: { readonly training?: boolean } = {},
): Named<RawTensor> {
  const data = { params: model.init(), state: model.initState(), inputs };
  const leaves = leavesOf(data, isHostTensor, "data").map(([path, leaf]) => [`in/${path}`, leaf] as const);
  const { graph } = traceInto(
    leaves.map(([name, type]) => ({ name, role: "batch" as const, type })),
    (tensors) => {
      const traced = rebuildTree(data, isHostTensor, tensors) as Traced<{
        params: TfjsTensors;
        state: TfjsTensors;
        inputs: Named<HostTensor>;
      }>;
      const context = { training: options.training ?? false, key: key(0), modelState: traced.state };
      const [outputs, state] = model.apply(traced.params, traced.inputs as Named<Tensor>, context);
      return { outputs, state } as never;
    },
  );
  const results = evaluateRaw(graph, Object.fromEntries(leaves), { arithmetic: "f64" });
  return Object.fromEntries(
    Object.entries(results).flatMap(([name, value]) =>
      name.startsWith("outputs/") ? [[name.slice("outputs/".length), value]] : [],
    ),
  );
}
