import { describe, expect, it } from "vitest";
import { batch, smallRun, stateOf, wave } from "../../test/small-run.js";
import type { Backend } from "../backend.js";
import { MpError } from "../errors.js";
import { type HostTensor, tensor } from "../host-tensor.js";
import { reference } from "../reference/index.js";

const poisoned = (rows = 4): { readonly x: HostTensor<"f32">; readonly y: HostTensor<"f32"> } => ({
  x: wave([rows, 3], 1),
  y: tensor(new Float32Array(rows).fill(Number.NaN), [rows, 1]),
});

/** The oracle, with account of the programs compiled for diagnosis; `fail` is thrown in their place. */
async function watched(
  fail?: Error,
): Promise<{ readonly backend: Backend; readonly searches: () => number }> {
  const inner = await reference();
  let searches = 0;
  const backend: Backend = {
    name: inner.name,
    specVersion: "v1",
    manifest: inner.manifest,
    compile: async (graph, options) => {
      const isSearch = graph.outputs.every(({ name }) => name === "poison");
      if (isSearch) searches++;
      if (isSearch && fail !== undefined) throw fail;
      return inner.compile(graph, options);
    },
    createState: (values) => inner.createState(values),
    upload: (value) => inner.upload(value),
    download: (handle) => inner.download(handle),
    stats: () => inner.stats(),
    dispose: () => inner.dispose(),
  };
  return { backend, searches: () => searches };
}

describe("the search for what is not finite", () => {
  it("is compiled once for a shape of batch, however many steps are skipped, and freed with the run", async () => {
    const { backend, searches } = await watched();
    const training = await smallRun({ backend, maxConsecutiveSkips: 1 });
    await training.step(poisoned());
    for (let step = 0; step < 4; step++) {
      await expect(training.step(poisoned())).rejects.toThrow(/first in batch\/y/);
    }
    expect(await training.diagnose(poisoned())).toMatchObject({ value: "batch/y" });
    expect(searches()).toBe(1);
    expect(await training.diagnose(poisoned(2))).toMatchObject({ value: "batch/y" });
    expect(searches()).toBe(2);
    await training.dispose();
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  });

  it("reads the parameters of the step, not those it was compiled with", async () => {
    const training = await smallRun();
    expect(await training.diagnose(batch(0))).toBeUndefined();
    const before = await stateOf(training);
    expect(await training.diagnose(poisoned())).toMatchObject({ value: "batch/y" });
    expect(await training.diagnose(batch(0))).toBeUndefined();
    expect(await stateOf(training)).toEqual(before);
  });

  it("that fails leaves the step's own failure to be told, with what is known", async () => {
    const cause = new MpError("MP_UNSUPPORTED", "watched: Concat: no kernel");
    const { backend } = await watched(cause);
    const training = await smallRun({ backend, maxConsecutiveSkips: 1 });
    await training.step(poisoned());
    const failure: unknown = await training.step(poisoned()).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "MP_NON_FINITE",
      message: expect.stringMatching(
        /^step: 2 steps in a row .*, the last with loss NaN, .* scale 1; where it began could not be found: watched: Concat: no kernel$/,
      ) as string,
      details: { skips: 2, loss: Number.NaN, scale: 1 },
    });
    expect((failure as MpError).cause).toBe(cause);
    await expect(training.diagnose(poisoned())).rejects.toBe(cause);
  });
});
