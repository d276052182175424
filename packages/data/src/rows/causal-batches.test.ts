import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { refusal } from "../../test/refusal.js";
import { bucketBy } from "../bucket-by.js";
import { type Dataset, indexedDataset, mapDataset } from "../dataset.js";
import { type CausalBatch, causalBatches } from "./causal-batches.js";
import { type CausalExample, causalColumns } from "./causal-example.js";
import { readRows } from "./read-rows.js";
import { shuffleDataset } from "./shuffle-dataset.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-causal-"));
});
afterAll(() => rm(folder, { recursive: true }));

const examplesOf = (examples: readonly CausalExample[]): Dataset<CausalExample> =>
  indexedDataset({
    signature: "examples",
    batchesPerEpoch: examples.length,
    batch: ({ index }) => examples[index] as CausalExample,
  });

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const row of rows) seen.push(row);
  return seen;
}

const LENGTH = 12;
const example = fc
  .array(fc.record({ id: fc.integer({ min: 1, max: 99 }), counts: fc.boolean() }), {
    minLength: 1,
    maxLength: LENGTH,
  })
  .map((tokens) => ({ ids: tokens.map(({ id }) => id), mask: tokens.map(({ counts }) => counts) }))
  // A mask that counts no prediction is refused; only an example without a mask may be a single token.
  .map(({ ids, mask }) => (mask.includes(true, 1) ? { ids, mask } : { ids }));

/** The examples in a batch, separated by its segments. */
function unpacked({
  ids,
  targets,
  positions,
  segments,
  mask,
}: CausalBatch): { ids: number[]; targets: number[] }[] {
  const found: { ids: number[]; targets: number[] }[] = [];
  const [rows = 0, length = 0] = ids.shape;
  for (let row = 0; row < rows; row++) {
    for (let query = 0; query < length; query++) {
      const at = row * length + query;
      const segment = segments.data[at];
      if (segment !== 0) {
        if (positions.data[at] === 0) found.push({ ids: [], targets: [] });
        found.at(-1)?.ids.push(ids.data[at] as number);
        found.at(-1)?.targets.push(targets.data[at] as number);
      } else expect([ids.data[at], targets.data[at]]).toEqual([7, -100]);
      for (let key = 0; key < length; key++) {
        const isOwn = segments.data[row * length + key] === segment && key <= query;
        expect(mask.data[at * length + key]).toBe(Number(isOwn));
      }
    }
  }
  return found;
}

it("loses, doubles and reorders no token, lets no example see another, and resumes anywhere", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(example, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 1, max: 3 }),
      fc.boolean(),
      fc.boolean(),
      async (examples, batch, pack, isShuffled) => {
        const inOrder = examplesOf(examples);
        const source = isShuffled ? shuffleDataset(inOrder, { buffer: 3, seed: 5 }) : inOrder;
        const data = causalBatches(source, { batch, length: LENGTH, pack, padding: 7 });
        const iterator = data.iterate();
        const seen: CausalBatch[] = [];
        const cursors = [iterator.cursor];
        for await (const made of iterator) {
          seen.push(made);
          cursors.push(JSON.parse(JSON.stringify(iterator.cursor)));
        }
        const wanted = (await all(source)).map(({ ids, mask }) => ({
          ids: [...(ids as number[])],
          targets: Array.from(ids, (_, at) =>
            (mask?.[at + 1] ?? at + 1 < ids.length) ? (ids[at + 1] as number) : -100,
          ),
        }));
        expect(seen.flatMap(unpacked)).toEqual(wanted);
        for (const [at, made] of seen.entries()) {
          expect(made.ids.shape).toEqual([batch, LENGTH]);
          // All rows but those of the last batch hold something.
          const rowsUsed = new Set(
            Array.from(made.segments.data, (part, token) => (part === 0 ? -1 : Math.floor(token / LENGTH))),
          );
          rowsUsed.delete(-1);
          if (at < seen.length - 1) expect(rowsUsed.size).toBe(batch);
        }
        for (const [at, cursor] of cursors.entries())
          expect(await all(data.iterate(cursor))).toEqual(seen.slice(at));
      },
    ),
    { numRuns: 60 },
  );
});

it("fills a row as long as whole examples fit", async () => {
  const data = causalBatches(
    examplesOf([4, 4, 4, 5, 1, 12].map((length) => ({ ids: new Int32Array(length).fill(length) }))),
    {
      batch: 2,
      length: 12,
    },
  );
  const rows = (await all(data)).map(({ segments }) => [...segments.data].join(""));
  expect(rows).toEqual(["111122223333111112000000", "111111111111000000000000"]);
});

it("refuses what is too long by file and row, or cuts it or leaves it out where asked", async () => {
  const path = join(folder, "long.jsonl");
  await writeFile(path, '{"ids":[1,2]}\n\n{"ids":[3,4,5,6]}\n{"ids":[8]}\n{"ids":"9"}\n');
  const rows = await readRows(path);
  const examples = mapDataset(rows, ({ ids }) => ({ ids: ids as number[] }));
  const options = { batch: 1, length: 3 };
  const message = (tooLong: "refuse" | "drop" | "truncate") =>
    refusal(() => all(causalBatches(examples, { ...options, tooLong }))).then((error) => [
      error.code,
      error.message,
    ]);
  expect(await message("refuse")).toEqual([
    "MP_INVALID_ARGUMENT",
    `${path}: row 2 (line 3): an example has 4 tokens and a row 3; make rows longer, or pass tooLong: "truncate" or "drop"`,
  ]);
  expect((await message("drop"))[1]).toBe(
    `${path}: row 4 (line 5): ids must be a list of tokens, got "9"; encode the row's text`,
  );
  const iterator = causalBatches(examples, { ...options, tooLong: "truncate" }).iterate();
  const first: number[][] = [];
  for (let at = 0; at < 2; at++) {
    const { value } = await iterator.next();
    first.push([...(value as CausalBatch).ids.data], [...(value as CausalBatch).targets.data]);
  }
  expect(first).toEqual([
    [1, 2, 0],
    [2, -100, -100],
    [3, 4, 5],
    [4, 5, -100],
  ]);
  const wrong = async (given: CausalExample) =>
    (await refusal(() => all(causalBatches(examplesOf([given]), options)))).message;
  expect(await wrong({ ids: [1, -1] })).toBe(
    "causalBatches: ids must be integers ≥ 0, got -1; encode the row's text",
  );
  expect(await wrong({ ids: [1, undefined as never] })).toMatch("ids must be integers ≥ 0, got undefined");
  expect(await wrong({ ids: [1, 2], mask: [1] })).toBe(
    "causalBatches: mask must have one value for each of the ids, got 1 for 2 ids; give 0 or 1 for each",
  );
});

it("refuses batches whose mask no engine can hold", async () => {
  for (const [batch, length] of [
    [8, 100_000],
    [2 ** 31, 1],
    [1, 46_341],
  ] as const) {
    const { code, message } = await refusal(async () =>
      causalBatches(examplesOf([{ ids: [1, 2] }]), { batch, length }),
    );
    expect([code, message]).toEqual([
      "MP_INVALID_ARGUMENT",
      `causalBatches: the mask [${batch}, 1, ${length}, ${length}] must have at most 2147483647 elements; pass a smaller batch or length`,
    ]);
  }
});

it("refuses an example of which nothing is learned, by its row", async () => {
  const masked = fc.array(fc.boolean(), { minLength: 1, maxLength: 8 });
  const path = join(folder, "unlearned.jsonl");
  await fc.assert(
    fc.asyncProperty(fc.array(masked, { minLength: 1, maxLength: 5 }), fc.boolean(), async (masks, pack) => {
      const examples = masks.map((mask) => ({ ids: mask.map((_, at) => at), mask }));
      await writeFile(path, examples.map((example) => `${JSON.stringify(example)}\n`).join(""));
      const rows = mapDataset(await readRows(path), (row) => row as unknown as CausalExample);
      const batches = all(causalBatches(rows, { batch: 1, length: 6, tooLong: "truncate", pack }));
      const lost = masks.findIndex((mask) => !mask.slice(0, 6).includes(true, 1));
      if (lost < 0) {
        for (const { targets } of await batches) expect(Math.max(...targets.data)).toBeGreaterThan(0);
        return;
      }
      const { code, message } = await refusal(() => batches);
      const isCut = masks[lost]?.includes(true, 1);
      const what = isCut
        ? `nothing is learned from the first 6 of its ${masks[lost]?.length} tokens; make rows longer, or pass tooLong: "drop"`
        : "mask must be 1 for a token after the first, or nothing is learned; give 1 for the tokens of the answer, or take the row out";
      expect([code, message]).toEqual([
        "MP_INVALID_ARGUMENT",
        `${path}: row ${lost + 1} (line ${lost + 1}): ${what}`,
      ]);
    }),
  );
});

it("names the row where a transformation of ours fails", async () => {
  const path = join(folder, "named.jsonl");
  await writeFile(path, '{"text":"a"}\n{"text":"b"}\n');
  const inner = causalColumns;
  const mapped = mapDataset(await readRows(path), ({ text }) => inner([{ ids: text === "a" ? [1] : [] }]));
  const error = await refusal(() => all(mapped));
  expect(error.message).toMatch(
    /named\.jsonl: row 2 \(line 2\): causalColumns: ids must be a list of tokens/,
  );
  expect(error.details).toMatchObject({ path, row: 2, line: 2 });
});

it("gives bucketBy the columns of examples", async () => {
  const examples = [{ ids: [1, 2, 3], mask: [0, 0, 1] }, { ids: [4, 5] }];
  const data = bucketBy(causalColumns(examples), { buckets: [2, 4], batch: 1, padding: { targets: -100 } });
  expect((await all(data)).map(({ ids, targets }) => [[...ids.data], [...targets.data]])).toEqual([
    [
      [4, 5],
      [5, -100],
    ],
    [
      [1, 2, 3, 0],
      [-100, 3, -100, -100],
    ],
  ]);
});
