import { type Backend, type HostTensor, MpError, tensor } from "@mp/graph";
import {
  add,
  cast,
  concat,
  div,
  greater,
  literal,
  log,
  matMul,
  mul,
  randomBernoulli,
  reduceMean,
  reduceSum,
  slice,
  softmax,
  sub,
  where,
} from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { batch, type SmallOptions, smallRun, stateOf, wave } from "../../../test/small-run.js";

const poisoned = (rows = 4): { readonly x: HostTensor<"f32">; readonly y: HostTensor<"f32"> } => ({
  x: wave([rows, 3], 1),
  y: tensor(new Float32Array(rows).fill(Number.NaN), [rows, 1]),
});

/** The reference backend with a record of programs compiled for diagnosis; throws `fail` instead of compiling one. */
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
      const isSearch = graph.outputs.some(({ name }) => name === "poison");
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
    expect(await training.diagnose([poisoned()])).toMatchObject({ value: "batch/y" });
    expect(searches()).toBe(1);
    expect(await training.diagnose([poisoned(2)])).toMatchObject({ value: "batch/y" });
    expect(searches()).toBe(2);
    await training.dispose();
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  });

  it("reads the parameters of the step, not those it was compiled with", async () => {
    const training = await smallRun();
    expect(await training.diagnose([batch(0)])).toBeUndefined();
    const before = await stateOf(training);
    expect(await training.diagnose([poisoned()])).toMatchObject({ value: "batch/y" });
    expect(await training.diagnose([batch(0)])).toBeUndefined();
    expect(await stateOf(training)).toEqual(before);
  });

  it("passes over a mask of -∞ that a softmax takes away, and names it where it does not", async () => {
    const attention: SmallOptions["loss"] = ({ hidden, out }, { x, y }, { modelState }) => {
      const scores = matMul(x, hidden.w);
      const masked = where(greater(scores, 0), scores, Number.NEGATIVE_INFINITY);
      // A row of nothing but masked scores would be a culprit, so one column is never masked.
      const kept = concat([slice(scores, [{ axis: 1, start: 0, end: 1 }]), masked], 1);
      const weights = slice(softmax(kept), [{ axis: 1, start: 1 }]);
      const difference = sub(matMul(weights, out), y);
      const metrics = { error: reduceSum(masked) };
      return { loss: reduceMean(mul(difference, difference)), metrics, modelState };
    };
    const training = await smallRun({ loss: attention });
    expect(await training.step(batch(0))).toMatchObject({ applied: true, metrics: { error: -Infinity } });
    expect(await training.diagnose([batch(0)])).toBeUndefined();
    expect(await training.diagnose([poisoned()])).toMatchObject({ value: "batch/y" });
    const unmasked = await smallRun({
      loss: ({ hidden }, { x }, { modelState }) => {
        const scores = matMul(x, hidden.w);
        const masked = where(greater(scores, 0), scores, Number.NEGATIVE_INFINITY);
        return { loss: reduceMean(masked), metrics: { error: literal(0) }, modelState };
      },
    });
    expect(await unmasked.diagnose([batch(0)])).toMatchObject({ op: "Where", phase: "forward" });
  });

  it("says of a logarithm of 0 what helps, and names an input once", async () => {
    const training = await smallRun({
      maxConsecutiveSkips: 1,
      loss: ({ out }, { x }, { modelState }) => {
        const error = reduceMean(log(mul(x, 0)));
        return { loss: add(error, reduceMean(out)), metrics: { error }, modelState };
      },
    });
    const remedy = "Log of 0 or less: add an epsilon or clip its operand";
    expect(await training.diagnose([batch(0)])).toMatchObject({ op: "Log", remedy });
    const poisonedRun = await smallRun({ maxConsecutiveSkips: 1 });
    await poisonedRun.step(poisoned());
    await expect(poisonedRun.step(poisoned())).rejects.toThrow(
      "first in batch/y (input, f32[4, 1]); the data itself",
    );
  });

  it.each([1, 2])(
    "draws the masks of the step that failed, of the microbatch that failed (of %i)",
    async (accumulate) => {
      let culprits = 0;
      for (let seed = 0; seed < 8; seed++) {
        const training = await smallRun({
          seed,
          accumulate,
          maxConsecutiveSkips: 1,
          loss: ({ out }, _, { key, modelState }) => {
            const kept = cast(randomBernoulli(key, 0.5, []), "f32");
            return { loss: div(reduceSum(mul(out, out)), kept), metrics: { error: kept }, modelState };
          },
        });
        const batches = Array.from({ length: accumulate }, (_, index) => batch(index));
        for (let step = 0; step < 40; step++) {
          const failure: unknown = await training.step(...batches).catch((error: unknown) => error);
          if (!MpError.is(failure)) continue;
          expect(failure.message).toMatch(/first in Div/);
          culprits++;
          break;
        }
      }
      expect(culprits).toBe(8);
    },
  );

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
    await expect(training.diagnose([poisoned()])).rejects.toBe(cause);
  });
});
