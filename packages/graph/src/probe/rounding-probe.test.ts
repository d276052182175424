import { describe, expect, it } from "vitest";
import { type HalfDType, isHalf } from "../dtype.js";
import { roundArray } from "../float-format/round.js";
import type { Op } from "../graph/attributes.js";
import { opDTypes } from "../graph/op-dtypes.js";
import { tensor } from "../host/host-tensor.js";
import { evaluate } from "../reference/index.js";
import { pairKey } from "./pair-key.js";
import type { HalfPair, ProbeGraph, ProbeResults } from "./probe-pairs.js";
import { opsThatF32Fixes } from "./rounding-probe.js";

const pairs = (Object.entries(opDTypes) as [Op, (typeof opDTypes)[Op]][]).flatMap(([op, dtypes]) =>
  dtypes.filter(isHalf).map((dtype: HalfDType): HalfPair => ({ op, dtype })),
);

/** The reference backend, except that some ops are off by 2 %. */
const roughly =
  (isRough: (op: string, widened: ReadonlySet<string>) => boolean) =>
  async ({ graph, inputs }: ProbeGraph, widened: ReadonlySet<string>): Promise<ProbeResults> => {
    const results = evaluate(graph, inputs);
    const makers = new Map(graph.nodes.flatMap((node) => node.outputs.map((value) => [value, node])));
    return Object.fromEntries(
      graph.outputs.map(({ name, value }) => {
        const result = results[name];
        const seen = makers.get(value);
        const maker = seen?.op === "Cast" ? (makers.get(seen.inputs[0] as typeof value) ?? seen) : seen;
        const dtype = maker?.outputs[0]?.dtype;
        if (result?.dtype !== "f32" || maker === undefined || !isRough(`${maker.op} ${dtype}`, widened))
          return [name, result];
        return [
          name,
          tensor(
            Float32Array.from(result.data as Float32Array, (x) => x * 1.02),
            result.shape,
          ),
        ];
      }),
    );
  };

describe("ops of halves that f32 fixes", () => {
  it("are none where the engine is right", async () => {
    expect(
      await opsThatF32Fixes(
        pairs,
        roughly(() => false),
      ),
    ).toEqual(new Set());
  });

  it("are those that are rough in the half and right in f32", async () => {
    const rough = new Set(["Tanh f16", "Sqrt bf16", "Exp bf16"]);
    // f32 does not help the last one.
    const isRough = (key: string, widened: ReadonlySet<string>): boolean =>
      rough.has(key) && (key === "Exp bf16" || !widened.has(key));
    expect(await opsThatF32Fixes(pairs, roughly(isRough))).toEqual(new Set(["Tanh f16", "Sqrt bf16"]));
    const others = pairs.filter((pair) => pairKey(pair) !== "Tanh f16");
    expect(await opsThatF32Fixes(others, roughly(isRough))).toEqual(new Set(["Sqrt bf16"]));
  });

  it("are those as well whose results were never rounded to the half", async () => {
    const run = async ({ graph, inputs }: ProbeGraph, widened: ReadonlySet<string>): Promise<ProbeResults> =>
      Object.fromEntries(
        Object.entries(evaluate(graph, inputs)).map(([name, result]) => {
          if (widened.size > 0 || result.dtype !== "f32") return [name, result];
          const numbers = Float32Array.from(result.data as Float32Array, (x) => x * (1 + 2 ** -20));
          return [name, tensor(roundArray("f32", numbers), result.shape)];
        }),
      );
    const some: HalfPair[] = [{ op: "Tanh", dtype: "f16" }];
    expect(await opsThatF32Fixes(some, run)).toEqual(new Set(["Tanh f16"]));
  });
});
