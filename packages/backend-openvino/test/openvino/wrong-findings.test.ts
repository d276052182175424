import { allCases, failuresOf, runConformance } from "@mp/conformance";
import type { Backend } from "@mp/graph";
import { locateLibrary, RELEASE } from "@mp/libopenvino";
import { type Findings, storageOf, targetOf } from "@mp/onnx-lowering";
import { expect, it } from "vitest";
import { openvinoBackend } from "../../src/backend.js";
import { openvinoManifest } from "../../src/manifest.js";
import { NativeRuntime } from "../../src/native/index.js";
import { probeOnce } from "../../src/probe/probe-once.js";

type Differences = NonNullable<Findings["differences"]>;

/** Opens the engine as it would be if the probe had not found a difference. */
async function opened(change: (found: Differences) => Partial<Differences>): Promise<Backend> {
  const runtime = new NativeRuntime({ library: locateLibrary(undefined, process.env), version: RELEASE });
  const findings = await probeOnce(runtime);
  const found = findings.differences as Differences;
  const wrong: Findings = { ...findings, differences: { ...found, ...change(found) } };
  const target = targetOf(wrong);
  runtime.storage = storageOf(target);
  return openvinoBackend(runtime, openvinoManifest(runtime.library.version, wrong), target);
}

const without =
  (op: string) =>
  ({ differing }: Differences): Partial<Differences> => ({
    differing: new Set([...differing].filter((one) => one !== op)),
  });

it.each([
  ["its Relu keeps NaN", without("Relu"), "op/Relu-f32/values"],
  ["its ReduceMax keeps infinities", without("ReduceMax"), "op/ReduceMax-f32/specials"],
  ["its Exp keeps NaN", without("Exp"), "op/Exp-f32/values"],
  ["its casts round to f16", () => ({ unrounded: [] }), "cast/f32-to-f16/is-not-"],
  ["it has 64-bit integers", () => ({ hasShortIntegers: false }), "integer/Mul-i64/wraps-around"],
] as const)("is seen to be wrong that %s", async (_, change, id) => {
  const cases = allCases.filter((one) => one.id.startsWith(id));
  expect(cases).toHaveLength(1);
  const failures = failuresOf(await runConformance({ factory: () => opened(change), cases }));
  expect(failures).toEqual([expect.stringContaining(id)]);
  // With the probe's own findings, each case passes or is refused.
  expect(failuresOf(await runConformance({ factory: () => opened((found) => found), cases }))).toEqual([]);
});
