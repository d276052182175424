/** The check that decides whether a step is applied is exact at every position and no stricter than necessary. */
import type { ComputeDType, Graph, HostTensor } from "@mp/graph";
import { poison } from "@mp/graph/internal";
import { allFinite } from "@mp/graph/ops";
import type { ConformanceCase } from "../conformance-case.js";
import { expectThat, fail } from "../expectations.js";
import { freshGraph } from "../fresh.js";
import { generate } from "../host-data.js";
import { traceGraph } from "../traced-graph.js";
import { scriptedCase, withExecutable } from "./kinds/scripted-case.js";

const LENGTH = 67;

function checkGraph(dtype: ComputeDType, length: number): Graph {
  return traceGraph({ x: { dtype, shape: [length] } }, ({ x }) => {
    if (x === undefined) throw new Error("internal: x is traced");
    return { finite: allFinite(x), poison: poison(x) };
  });
}

interface Trial {
  readonly what: string;
  readonly x: HostTensor;
  readonly finite: boolean;
}

/** A case with one executable and a run for each trial. */
function finiteCase(
  id: string,
  dtype: ComputeDType,
  trials: () => readonly Trial[],
  length: number = LENGTH,
): ConformanceCase {
  const graph = checkGraph(dtype, length);
  return scriptedCase(id, graph, (backend) =>
    withExecutable(backend, freshGraph(graph), async (executable) => {
      for (const { what, x, finite } of trials()) {
        const results = await executable.run({ x });
        const said = results["finite"]?.data[0] !== 0;
        if (said !== finite) fail(`${what} is called ${said ? "finite" : "not finite"}`);
        const sum = Number(results["poison"]?.data[0]);
        expectThat(finite ? sum === 0 : Number.isNaN(sum), `the poison of ${what} is ${sum}`);
      }
    }),
  );
}

const NON_FINITE = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

function everyPosition(dtype: ComputeDType): readonly Trial[] {
  const clean = (): Trial => ({
    what: "a clean vector",
    x: generate(dtype, [LENGTH], (at) => (at % 7) - 3),
    finite: true,
  });
  const nonFinite = NON_FINITE.flatMap((bad) =>
    Array.from({ length: LENGTH }, (_, position): Trial => {
      const x = generate(dtype, [LENGTH], (at) => (at === position ? bad : (at % 7) - 3));
      return { what: `a vector with ${bad} at ${position}`, x, finite: false };
    }),
  );
  return [clean(), ...nonFinite, clean()];
}

export const finiteCheckCases: readonly ConformanceCase[] = [
  ...(["f32", "f16", "bf16"] as const).map((dtype) =>
    finiteCase(`finite-check/${dtype}/sees-every-position`, dtype, () => everyPosition(dtype)),
  ),
  // Apex and DeepSpeed summed gradients to find overflow, and skipped steps that were finite.
  finiteCase("finite-check/f32/finite-terms-do-not-sum-to-overflow", "f32", () => [
    { what: "a vector of 3e38", x: generate("f32", [LENGTH], () => 3e38), finite: true },
    {
      what: "a vector of ±3e38",
      x: generate("f32", [LENGTH], (at) => (at % 2 === 0 ? 3e38 : -3e38)),
      finite: true,
    },
  ]),
  finiteCase("finite-check/f16/the-largest-half-is-finite", "f16", () => [
    { what: "a vector of 65504", x: generate("f16", [LENGTH], () => 65504), finite: true },
  ]),
  finiteCase("finite-check/f32/opposite-infinities-do-not-cancel", "f32", () => [
    {
      what: "a vector with both infinities",
      x: generate("f32", [LENGTH], (at) =>
        at === 3 ? Number.POSITIVE_INFINITY : at === 60 ? Number.NEGATIVE_INFINITY : 0,
      ),
      finite: false,
    },
  ]),
  finiteCase(
    "finite-check/f32/sees-the-last-of-many",
    "f32",
    () => [
      {
        what: "100 003 numbers, the last NaN",
        x: generate("f32", [100_003], (at) => (at === 100_002 ? Number.NaN : 1)),
        finite: false,
      },
      { what: "100 003 numbers", x: generate("f32", [100_003], () => 1), finite: true },
    ],
    100_003,
  ),
];
