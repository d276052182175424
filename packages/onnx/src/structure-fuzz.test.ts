// Mutated models: lists are shortened, doubled or reordered, and leaves come from other places. Each model is read,
// written or refused with a code.
import { readFileSync } from "node:fs";
import { MpError } from "@mp/graph";
import { expect, it } from "vitest";
import { seed } from "../../core/test/soak/size.js";
import { randomOf } from "../test/mutations.js";
import { opGraphs } from "../test/op-graphs.js";
import { decodeModel } from "./decode.js";
import { encodeModel } from "./encode-checked.js";
import { encodeModel as encodeWritten } from "./entries/write.js";
import type { OnnxModel } from "./model.js";
import { readGraph } from "./read/read.js";
import { fromOnnx } from "./trainable/from-onnx.js";
import { writeGraph } from "./write/write.js";

/** A place in a copied model, with what stands there. */
interface Place<T> {
  readonly value: T;
  set(next: unknown): void;
}
interface Places {
  readonly lists: Place<readonly unknown[]>[];
  readonly leaves: Place<unknown>[];
}

function placesIn(value: unknown, found: Places = { lists: [], leaves: [] }): Places {
  const holder = value as Record<string, unknown>;
  for (const [key, each] of Object.entries(holder)) {
    const set = (next: unknown): void => {
      holder[key] = next;
    };
    if (Array.isArray(each)) found.lists.push({ value: each, set });
    if (typeof each === "object" && each !== null && !ArrayBuffer.isView(each)) placesIn(each, found);
    else found.leaves.push({ value: each, set });
  }
  return found;
}

const FILES = ["mlp", "shapes", "function", "indices", "dynamic", "export-torch-decoder", "export-keras"];
const models: readonly OnnxModel[] = [
  ...opGraphs().map(({ graph }) => writeGraph(graph)),
  ...FILES.map((name) =>
    decodeModel(readFileSync(new URL(`../test/fixtures/${name}.onnx`, import.meta.url))),
  ),
];
const ODD: readonly unknown[] = [
  "f32", "u64", "STRING", "UNDEFINED", "INT8", "", "x", "toString", "__proto__", "Scan", "TopK", "mp", "graphs", 0, -1, 1e9,
  2 ** 53, Number.NaN, -0.5, 0n, -1n, 2n ** 40n, 2n ** 70n,
]; // biome-ignore format: one list

it("are read, written or refused with a code, whatever their lists and leaves hold", async () => {
  console.log(`models as objects, seed ${seed}`);
  const random = randomOf(seed);
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  const changeList = (lists: Places["lists"]): void => {
    const { value: list, set } = pick(lists);
    const at = random(Math.max(1, list.length));
    const other = structuredClone(pick(lists).value);
    const put = (next: unknown): readonly unknown[] => (list.length === 0 ? list : list.with(at, next));
    const changes: readonly (() => readonly unknown[])[] = [
      () => list.slice(0, at),
      () => list.toSpliced(at, 1),
      () => [],
      () => (list.length === 0 ? other : [...list, structuredClone(list[at])]),
      () => list.toReversed(),
      () => put(structuredClone(pick(list))),
      () => (typeof list[at] === typeof other[0] ? put(other[0]) : list),
    ];
    set(pick(changes)());
  };
  const changeLeaf = (leaves: Places["leaves"]): void => {
    const { value, set } = pick(leaves);
    const alike = [...ODD, ...leaves.map((leaf) => leaf.value)].filter(
      (each) => typeof each === typeof value,
    );
    set(random(2) === 0 ? pick(alike) : pick(alike.slice(0, ODD.length)));
  };
  const outcomes = { taken: 0, refused: 0 };
  for (let run = 0; run < 1500; run++) {
    const model = structuredClone(pick(models));
    for (let count = 0; count <= random(3); count++) {
      const { lists, leaves } = placesIn(model);
      if (random(2) === 0) changeList(lists);
      else changeLeaf(leaves);
    }
    const attempts: Readonly<Record<string, () => unknown>> = {
      readGraph: () => readGraph(model, { onWarning: () => {} }),
      encodeModel: () => encodeModel(model),
      "encodeModel of write": () => encodeWritten(model),
      fromOnnx: async () => (await fromOnnx(encodeModel(model), { onWarning: () => {} })).init(),
    };
    for (const [name, attempt] of Object.entries(attempts))
      try {
        await attempt();
        outcomes.taken++;
      } catch (error) {
        if (!MpError.is(error)) throw new Error(`${name} of run ${run}`, { cause: error });
        outcomes.refused++;
      }
  }
  expect(Math.min(outcomes.taken, outcomes.refused)).toBeGreaterThan(500);
});
