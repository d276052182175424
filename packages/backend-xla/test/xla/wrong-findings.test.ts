import { allCases, failuresOf, runConformance } from "@mp/conformance";
import type { Backend } from "@mp/graph";
import { expect, it } from "vitest";
import { xlaBackend } from "../../src/backend.js";
import { DEVICE_FLAGS } from "../../src/flags.js";
import { openClient } from "../../src/library.js";
import { xlaManifest } from "../../src/manifest.js";
import { probeOnce } from "../../src/probe.js";
import { PLUGIN } from "./open.js";

/** Opens the plugin with other flags, and without regard to what the probe finds then. */
async function openWrong(flags: Readonly<Record<string, boolean>>) {
  const client = await openClient(PLUGIN, 1);
  const engine = { client, flags: { ...DEVICE_FLAGS.cpu, ...flags }, isDonating: true, tf32: false };
  const findings = await probeOnce(engine);
  return { backend: xlaBackend(xlaManifest(client, findings, true), engine), findings };
}

it("sees a plugin that loses NaN, and so does the suite", async () => {
  const flags = { xla_cpu_enable_fast_min_max: true };
  const { backend, findings } = await openWrong(flags);
  await backend.dispose();
  expect(findings.faults).toEqual(expect.arrayContaining(["loses NaN in Max"]));
  const cases = allCases.filter(({ id }) => id === "op/Max-f32/values");
  expect(cases).toHaveLength(1);
  const factory = async (): Promise<Backend> => (await openWrong(flags)).backend;
  expect(failuresOf(await runConformance({ factory, cases }))).toEqual([
    expect.stringContaining("op/Max-f32"),
  ]);
});

it("asks again without a flag that the plugin does not know", async () => {
  const { backend, findings } = await openWrong({ xla_no_such_flag: true });
  await backend.dispose();
  expect(findings).toMatchObject({ flags: DEVICE_FLAGS.cpu, f8: undefined, faults: [] });
});
