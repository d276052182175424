import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { float32, MpError, sgd, tensor, trainer } from "@mp/core";
import type { Json } from "@mp/core/fit";
import { mul, reduceMean, sub } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import { describe, expect, it, vi } from "vitest";
import { type ImageBatchOptions, imageBatches, workerDataset } from "../src/index.js";

const images = {
  x: tensor(
    Uint8Array.from({ length: 40 * 3 * 8 * 8 }, (_, index) => (index * 7919) % 256),
    [40, 3, 8, 8],
  ),
  y: tensor(Int32Array.from({ length: 40 }, (_, index) => index % 4)),
};
const options: ImageBatchOptions = {
  batch: 6,
  epochs: 3,
  shuffle: { seed: 3 },
  augment: { seed: 4, flip: true, crop: 2 },
};

interface Seen {
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly cursor: Json;
}

async function all(given: ImageBatchOptions, cursor?: Json): Promise<Seen[]> {
  const seen: Seen[] = [];
  const iterator = imageBatches(images, given).iterate(cursor);
  for await (const { x, y } of iterator)
    seen.push({ x: [...x.data], y: [...y.data], cursor: iterator.cursor });
  return seen;
}

/** Threads under way, as the process sees them. */
const threads = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === "MessagePort").length;

/** A port of a thread that has ended is closed a turn later. */
const expectNoMoreThan = (count: number): Promise<void> =>
  vi.waitFor(() => expect(threads()).toBeLessThanOrEqual(count), { timeout: 60_000 });

const numbers = new URL("./fixtures/numbers.mjs", import.meta.url);

describe("imageBatches with prefetch", () => {
  it("yields what it yields without: order, content, cursors, from the start and from any cursor", async () => {
    const plain = await all(options);
    expect(plain).toHaveLength(18);
    for (const ahead of [1, 3, 50]) expect(await all({ ...options, prefetch: ahead })).toEqual(plain);
    for (const index of [0, 7, 16]) {
      expect(await all({ ...options, prefetch: 2 }, plain[index]?.cursor)).toEqual(plain.slice(index + 1));
    }
  });

  it("yields the pass that is asked for", async () => {
    const [plain, ahead] = [options, { ...options, prefetch: 2 }].map((given) =>
      imageBatches(images, given).iterate(undefined, 1),
    );
    expect((await ahead?.next())?.value).toEqual((await plain?.next())?.value);
    await ahead?.return?.();
  });

  it("refuses a cursor of other data at once, as without", async () => {
    const [{ cursor } = { cursor: null }] = await all({ ...options, batch: 5 });
    expect(() => imageBatches(images, { ...options, prefetch: 2 }).iterate(cursor)).toThrow(/other data/);
  });

  it("fits, stops and resumes to the bit", async () => {
    const backend = await reference();
    const run = () =>
      trainer({
        backend,
        params: { w: tensor(new Float32Array(1)) },
        loss: ({ w }, { x }) => reduceMean(mul(sub(w, x), sub(w, x))),
        optimizer: sgd({ learningRate: 0.1 }),
        precision: float32(),
        seed: 1,
      });
    const whole = await run();
    await whole.fit(imageBatches(images, options), { steps: 12 });
    const half = await run();
    await half.fit(imageBatches(images, { ...options, prefetch: 3 }), { steps: 5 });
    await half.fit(imageBatches(images, { ...options, prefetch: 2 }), { steps: 12 });
    expect((await half.parameters()).w.data).toEqual((await whole.parameters()).w.data);
    expect((await whole.parameters()).w.data[0]).not.toBe(0);
    await Promise.all([whole.dispose(), half.dispose()]);
  });
});

describe("workerDataset", () => {
  it("begins at its own cursor from before the first batch", async () => {
    const dataset = workerDataset<{ number: number }>(numbers, { ahead: 1, options: { count: 2 } });
    const start = dataset.iterate().cursor;
    expect(start).toBeNull();
    const iterator = dataset.iterate(start as Json);
    expect((await iterator.next()).value?.number).toBe((await dataset.iterate().next()).value?.number);
    await iterator.return?.(undefined);
  });

  const count = (given: object, ahead = 2) =>
    workerDataset<{ number: number; kept: unknown; list: unknown }>(numbers, {
      ahead,
      options: { count: 5, ...given },
    });

  it("yields a module's batches, each of them whole", async () => {
    const seen: { number: number; kept: unknown }[] = [];
    for await (const batch of count({})) seen.push(batch);
    expect(seen.map(({ number }) => number)).toEqual([0, 1, 2, 3, 4]);
    expect(seen[4]).toEqual({
      number: 4,
      kept: tensor(new Float32Array([1, 2, 3])),
      list: [tensor(new Int32Array([4]))],
    });
    expect(Object.isFrozen(seen[4]?.kept)).toBe(true);
  });

  it("hands out what was good, then the thread's error with its code and facts, and ends", async () => {
    const before = threads();
    const iterator = count({ failsAt: 2 }, 4).iterate();
    const seen: unknown[] = [];
    const failure = await (async () => {
      for await (const { number } of iterator) seen.push(number);
    })().catch((error: unknown) => error);
    expect(seen).toEqual([0, 1]);
    expect(MpError.is(failure, "MP_PARSE") && failure.details).toEqual({ offset: 7 });
    expect(String((failure as Error).cause)).toContain("numbers.mjs");
    expect(iterator.cursor).toMatchObject({ index: 2 });
    await expectNoMoreThan(before);
  });

  it("tells a thread that died, a module that is not there and one without a dataset", async () => {
    const drain = async (module: URL, given: object): Promise<unknown> => {
      try {
        for await (const _ of workerDataset(module, { ahead: 1, options: given })) {
        }
      } catch (error) {
        return error;
      }
      return undefined;
    };
    expect(MpError.is(await drain(numbers, { count: 3, exitsAt: 1 }), "MP_DISPOSED")).toBe(true);
    expect(String(await drain(new URL("./nowhere.mjs", import.meta.url), {}))).toMatch(/nowhere\.mjs/);
    const empty = new URL("data:text/javascript,export const other = 1");
    expect(MpError.is(await drain(empty, {}), "MP_INVALID_ARGUMENT")).toBe(true);
  });

  it("ends its thread when the loop breaks early", async () => {
    const before = threads();
    for await (const { number } of count({ count: 1000 })) if (number === 3) break;
    await expectNoMoreThan(before);
  });

  it("keeps no process alive that drops it in the middle", () => {
    const program = `
      import { workerDataset } from "@mp/data";
      const iterator = workerDataset(new URL(${JSON.stringify(numbers.href)}), { ahead: 2, options: { count: 9 } }).iterate();
      console.log((await iterator.next()).value.number);`;
    const { status, stdout } = spawnSync(
      process.execPath,
      ["--max-old-space-size=512", "--input-type=module", "-e", program],
      {
        cwd: fileURLToPath(new URL("..", import.meta.url)),
        timeout: 600_000,
        encoding: "utf8",
      },
    );
    expect([status, stdout]).toEqual([0, "0\n"]);
  });
});
