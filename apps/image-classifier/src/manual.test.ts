import { createHash } from "node:crypto";
import { type CommonOptions, parseCommandLine } from "@mp/cli";
import { type Backend, type HalfDType, tensor } from "@mp/core";
import { type Graph, producers, type Value } from "@mp/core/graph";
import { reference } from "@mp/core/reference";
import { shapeImages } from "@mp/data";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { definition, type Options } from "./flags.js";
import { MODELS, type ModelName } from "./models/index.js";
import { choosePrecision } from "./precision.js";
import { buildModel, classifierTraining } from "./run.js";

let backend: Backend;
beforeAll(async () => {
  backend = await reference();
});
afterAll(() => backend.dispose());

function optionsOf(...flags: string[]): Options {
  const parsed = parseCommandLine(definition, [...flags, "--width", "4", "--size", "16", "--steps", "1"]);
  if (parsed.kind !== "run") throw new Error(JSON.stringify(parsed));
  return parsed.options;
}

const splits = shapeImages({ seed: 1, train: 4, test: 1, side: 16 });
const images = {
  ...splits,
  statistics: { mean: [0, 0, 0], deviation: [1, 1, 1] },
  channels: 3,
  size: 16,
  summary: {},
};
const batch = { x: tensor(new Float32Array(4 * 3 * 16 * 16), [4, 3, 16, 16]), y: tensor(new Int32Array(4)) };

/** The step's graph as the engine gets it. */
async function stepGraph(options: Options): Promise<Graph> {
  const { precision, castTo } = choosePrecision({ options, backend });
  const model = buildModel(options, images, castTo);
  const training = await classifierTraining(model, { options, backend }, precision);
  try {
    return training.graph(batch as never);
  } finally {
    await training.dispose();
  }
}

/**
 * Each output as a hash of everything that it is computed from: equal for graphs that are equal except for names and
 * order.
 */
function meaning(graph: Graph): ReadonlyMap<string, string> {
  const makers = producers(graph);
  const known = new Map<Value, string>(graph.inputs.map(({ name, value }) => [value, `input ${name}`]));
  for (const { op, attributes, inputs, outputs } of graph.nodes) {
    const from = inputs.map((input) => known.get(input));
    outputs.forEach((output, place) => {
      const text = JSON.stringify([op, attributes, from, place, output.dtype, output.shape], (_, value) =>
        typeof value === "bigint"
          ? `${value}n`
          : ArrayBuffer.isView(value)
            ? [...(value as Float32Array)].map(String)
            : value,
      );
      known.set(output, createHash("sha1").update(text).digest("hex"));
    });
  }
  expect(makers.size).toBeGreaterThan(0);
  return new Map(graph.outputs.map(({ name, value }) => [name, known.get(value) ?? ""]));
}

/** Number of casts to each dtype. */
function casts(graph: Graph): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { op, outputs } of graph.nodes) {
    const dtype = outputs[0]?.dtype ?? "";
    if (op === "Cast") counts[dtype] = (counts[dtype] ?? 0) + 1;
  }
  return counts;
}

const halves: readonly [CommonOptions["precision"], HalfDType][] = [
  ["mixed_float16", "f16"],
  ["mixed_bfloat16", "bf16"],
];
const cases = MODELS.filter((name) => name !== "resnet32").flatMap((model) =>
  halves.map(([precision, half]): [ModelName, string, HalfDType] => [model, precision, half]),
);

describe("casting by hand", () => {
  it.each(cases)(
    "gives %s the graph that the policy of %s gives it, up to names",
    async (model, precision, half) => {
      const flags = ["--model", model, "--precision", precision];
      const automatic = await stepGraph(optionsOf(...flags));
      const manual = await stepGraph(optionsOf(...flags, "--manual"));
      expect(casts(automatic)[half]).toBeGreaterThan(5);
      expect(casts(manual)).toEqual(casts(automatic));
      expect(manual.nodes.length).toBe(automatic.nodes.length);
      expect(meaning(manual)).toEqual(meaning(automatic));
    },
  );

  it("tells graphs apart that are cast otherwise", async () => {
    const flags = ["--model", "vgg", "--precision", "mixed_float16"];
    const automatic = await stepGraph(optionsOf(...flags));
    const halved = await stepGraph(optionsOf(...flags, "--half-reductions"));
    expect(meaning(halved)).not.toEqual(meaning(automatic));
  });

  it("refuses what has no half to cast to", () => {
    const make =
      (...flags: string[]) =>
      () =>
        choosePrecision({ options: optionsOf(...flags), backend });
    expect(make("--precision", "float32", "--manual")).toThrow(/--manual casts to a half, float32 has none/);
    expect(make("--precision", "float32", "--half-reductions")).toThrow(/float32 has none/);
    expect(make("--precision", "mixed_float16", "--manual", "--half-reductions")).toThrow(/is cast by hand/);
  });
});
