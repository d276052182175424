// What the maker of a model computes with it, as the scripts beside the fixtures wrote it down.
import { readFileSync } from "node:fs";
import { type HostTensor, tensor } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { expect } from "vitest";
import { decodeModel } from "../src/decode.js";
import { type ReadModel, readGraph } from "../src/read/read.js";
import type { ReadOptions } from "../src/read/read-options.js";
import { fixture } from "./fixtures.js";

interface JsonTensor {
  readonly dtype: "float32" | "int64" | "int32";
  readonly shape: readonly number[];
  readonly data: readonly number[];
}
export interface Expectation {
  readonly inputs: Readonly<Record<string, JsonTensor>>;
  readonly outputs: Readonly<Record<string, JsonTensor>>;
}

function hostTensor({ dtype, shape, data }: JsonTensor): HostTensor {
  if (dtype === "int64") return tensor(BigInt64Array.from(data, BigInt), shape, "i64");
  if (dtype === "int32") return tensor(Int32Array.from(data), shape);
  return tensor(Float32Array.from(data), shape);
}

/** Reads the expectations of the models named in that file of the fixtures. */
export function expectations(file: string): Readonly<Record<string, Expectation>> {
  return JSON.parse(readFileSync(new URL(`fixtures/${file}.json`, import.meta.url), "utf8"));
}

/** Reads the fixture and holds its graph to what its maker says. */
export function expectFixture(
  name: string,
  { inputs, outputs }: Expectation,
  options?: ReadOptions,
): ReadModel {
  const read = readGraph(decodeModel(fixture(name)), options);
  const given = Object.fromEntries(Object.entries(inputs).map(([key, value]) => [key, hostTensor(value)]));
  const results = evaluate(read.graph, { ...given, ...read.parameters });
  expect(Object.keys(results)).toEqual(Object.keys(outputs));
  for (const [key, value] of Object.entries(outputs)) {
    const want = hostTensor(value);
    const got = results[key] as HostTensor;
    expect([key, got.dtype, got.shape]).toEqual([key, want.dtype, want.shape]);
    for (let index = 0; index < want.data.length; index++) {
      if (want.dtype === "f32") expect(got.data[index]).toBeCloseTo(Number(want.data[index]), 5);
      else expect(got.data[index]).toBe(want.data[index]);
    }
  }
  return read;
}
