import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Backend } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { batch, type SmallOptions, type SmallTrainer, smallRun, stateOf } from "../../../test/small-run.js";

const batches = [0, 1, 2, 3, 4].map((step) => batch(step));

let folder = "";
let path = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-cursor-"));
});
beforeEach(() => {
  path = join(folder, "run");
});
afterAll(() => rm(folder, { recursive: true }));

/** The cursor that a checkpoint of the run would hold. */
async function cursorOf(training: SmallTrainer): Promise<unknown> {
  await training.save(path);
  return (await smallRun()).load(path);
}

async function fitted(options: Partial<SmallOptions> = {}): Promise<SmallTrainer> {
  const training = await smallRun(options);
  await training.fit(batches, { steps: 2 });
  return training;
}

/** The reference backend, whose executables get this `profile`. */
async function profiling(profile: (() => never) | undefined): Promise<Backend> {
  const inner = await reference();
  return {
    name: inner.name,
    specVersion: "v1",
    manifest: inner.manifest,
    compile: async (graph, options) => {
      const executable = await inner.compile(graph, options);
      return {
        warnings: executable.warnings,
        run: (inputs) => executable.run(inputs),
        dispose: () => executable.dispose(),
        ...(profile === undefined ? {} : { profile }),
      };
    },
    createState: (values) => inner.createState(values),
    upload: (value) => inner.upload(value),
    download: (handle) => inner.download(handle),
    stats: () => inner.stats(),
    dispose: () => inner.dispose(),
  };
}

describe("the place in the data", () => {
  it("is unknown after a profiled step, which was made on a batch from elsewhere", async () => {
    const training = await fitted();
    await training.profile(batch(7));
    expect((await training.counters()).iteration).toBe(3);
    expect(await cursorOf(training)).toBeNull();
  });

  it("stands where it stood after a profile that made no step", async () => {
    const place = await cursorOf(await fitted());
    expect(place).not.toBeNull();
    const fails = (): never => {
      throw new Error("no profile");
    };
    for (const profile of [undefined, fails]) {
      const training = await fitted({ backend: await profiling(profile) });
      await expect(training.profile(batch(7))).rejects.toThrow();
      expect(await cursorOf(training)).toEqual(place);
    }
    const windowed = await smallRun({ accumulate: 2 });
    await windowed.fit(batches, { steps: 1 });
    await windowed.save(path);
    const before = await (await smallRun({ accumulate: 2 })).load(path);
    await windowed.profile(batch(7));
    await windowed.save(path);
    expect(await (await smallRun({ accumulate: 2 })).load(path)).toEqual(before);
  });

  it.each([0, 1, 5, 20])(
    "is that of the checkpoint whose load is under way when fit starts, %i turns later",
    async (turns) => {
      await (await fitted()).save(path);
      const whole = await smallRun();
      await whole.fit(batches);
      for (const go of ["fit", "steps"] as const) {
        const training = await smallRun();
        const loading = training.load(path);
        for (let turn = 0; turn < turns; turn++) await new Promise((done) => setImmediate(done));
        if (go === "fit") await training.fit(batches);
        else for await (const { applied } of training.steps(batches)) expect(applied).toBe(true);
        await loading;
        expect(await stateOf(training)).toEqual(await stateOf(whole));
      }
    },
  );
});
