// Any object, read and written as a model, gives a result or an MpError.
import { MpError } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { seed } from "../../core/test/soak/size.js";
import { randomOf } from "../test/mutations.js";
import { opGraphs } from "../test/op-graphs.js";
import { encodeModel } from "./encode-checked.js";
import type { OnnxModel } from "./model.js";
import { readGraph } from "./read/read.js";
import { writeGraph } from "./write/write.js";

const ODD: readonly unknown[] = [
  undefined, null, 0, -1, 1.5, Number.NaN, 2 ** 40, "", "x", true, 1n, -1n, [], [null], {}, { name: 1 },
  new Float32Array(3), new Map(), () => 1, Symbol("s"),
]; // biome-ignore format: one list

type Place = readonly (string | number)[];

/** The paths of everything in a model: objects, arrays and their elements, and typed arrays as a whole. */
function placesIn(value: unknown, at: Place = []): readonly Place[] {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return [at];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [
    at,
    ...keys.flatMap((key) => placesIn((value as Record<string | number, unknown>)[key], [...at, key])),
  ];
}

function replaced(value: unknown, [key, ...rest]: Place, by: unknown): unknown {
  if (key === undefined) return by;
  const inner = replaced((value as Record<string | number, unknown>)[key], rest, by);
  if (Array.isArray(value)) return value.map((each, index) => (index === key ? inner : each));
  return { ...(value as object), [key]: inner };
}

const models = opGraphs().map(({ graph }) => writeGraph(graph));

describe("models that are none", () => {
  it("are read, written or refused with a code, whatever stands in one place", () => {
    console.log(`odd models, seed ${seed}`);
    const random = randomOf(seed);
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
    const refused = { read: 0, write: 0 };
    for (let run = 0; run < 4000; run++) {
      const model = pick(models);
      const place = pick(placesIn(model));
      const by = pick(ODD);
      const odd = replaced(model, place, by) as OnnxModel;
      const attempts = { read: () => readGraph(odd, { onWarning: () => {} }), write: () => encodeModel(odd) };
      for (const [name, attempt] of Object.entries(attempts))
        try {
          attempt();
        } catch (error) {
          if (!MpError.is(error))
            throw new Error(`${name}: ${place.join(".")} = ${String(by)}`, { cause: error });
          refused[name as "read" | "write"]++;
        }
    }
    expect(refused.read).toBeGreaterThan(2000);
    expect(refused.write).toBeGreaterThan(1500);
  });

  it("are named by the place that is wrong", () => {
    const odd = replaced(models[0], ["graph", "nodes", 0, "inputs", 0], 3) as OnnxModel;
    for (const [what, attempt] of [
      ["readGraph", () => readGraph(odd)],
      ["encodeModel", () => encodeModel(odd)],
    ] as const)
      expect(attempt).toThrow(`${what}: model.graph.nodes[0].inputs[0] must be a string, got number`);
  });
});
