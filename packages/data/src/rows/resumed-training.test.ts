import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { adam, float32, ops, type Tensor, tensor, trainer } from "@mp/core";
import { softmaxCrossEntropyLoss } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { mapDataset } from "../dataset.js";
import { causalBatches } from "./causal-batches.js";
import { readRows } from "./read-rows.js";
import { shuffleDataset } from "./shuffle-dataset.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-resumed-"));
});
afterAll(() => rm(folder, { recursive: true }));

const VOCABULARY = 16;
interface Batch {
  readonly ids: Tensor;
  readonly targets: Tensor;
}

/** Starts a trainer of a table whose row for a token holds the logits of the next token. */
const start = async () =>
  trainer({
    backend: await reference(),
    params: { table: tensor(new Float32Array(VOCABULARY ** 2), [VOCABULARY, VOCABULARY]) },
    loss: ({ table }, { ids, targets }: Batch) =>
      softmaxCrossEntropyLoss(
        ops.reshape(ops.gather(table, ids), [-1, VOCABULARY]),
        ops.reshape(targets, [-1]),
        { ignoreIndex: -100 },
      ),
    optimizer: adam({ learningRate: 0.1 }),
    precision: float32(),
  });

/** Opens the data again, as a new process would. */
async function dataOf(path: string) {
  const rows = await readRows(path, { columns: { text: "string?", id: "number" } });
  const examples = mapDataset(rows, ({ text, id }) => {
    const ids = [...`${text ?? ""}${id}.`].map(
      (character) => 1 + ((character.codePointAt(0) ?? 0) % (VOCABULARY - 1)),
    );
    return { ids, mask: ids.map((_, at) => at > 0) };
  });
  return causalBatches(shuffleDataset(examples, { buffer: 9, seed: 2 }), { batch: 2, length: 16 });
}

const fixtures = fileURLToPath(new URL("../../test/fixtures/parquet/", import.meta.url));
const files = { jsonl: "rows.jsonl", parquet: "zstd.parquet" };

it.each(["jsonl", "csv", "parquet"] as const)(
  "ends at the same bits as a run that was never stopped, wherever it was: %s",
  async (format) => {
    const path = format === "csv" ? join(folder, "rows.csv") : join(fixtures, files[format]);
    if (format === "csv") {
      const columns = { text: "string?", id: "number" } as const;
      const lines = ["id,text"];
      for await (const { id, text } of await readRows(join(fixtures, files.jsonl), { columns }))
        lines.push(`${id},${text ?? ""}`);
      await writeFile(path, lines.join("\n"));
    }
    const whole = await start();
    const { steps } = await whole.fit(await dataOf(path), { epochs: 3 });
    expect(steps).toBeGreaterThan(20);
    const { table } = await whole.parameters();
    const checkpoint = join(folder, `${format}.safetensors`);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: steps - 1 }), async (stopped) => {
        const first = await start();
        await first.fit(await dataOf(path), { steps: stopped, epochs: 3 });
        await first.save(checkpoint);
        const second = await start();
        await second.load(checkpoint);
        await second.fit(await dataOf(path), { epochs: 3 });
        expect((await second.parameters()).table).toEqual(table);
      }),
      { numRuns: 6 },
    );
  },
);
