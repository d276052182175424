/** A tiny Llama with byte tokens and a data set of sums, made on the spot: fine-tuning without a download. */
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { key } from "@mp/core";
import { permutation, randomStream } from "@mp/data";
import { causalLm, saveCausalLm } from "@mp/language-models";

const PARTS = fileURLToPath(new URL("../tiny", import.meta.url));
const SUMMANDS = 20;
const HELD_OUT = 40;

/** Files of texts: for the base, for adapters, and held-out ones like the adapters' for evaluation. */
interface TinyTexts {
  readonly pretrain: string;
  readonly train: string;
  readonly heldOut: string;
}

/** Writes a model with new weights into the folder, its tokenizer, and its texts: sums in figures, then in words. */
export async function makeTiny(folder: string, seed: number): Promise<TinyTexts> {
  const model = causalLm(JSON.parse(await readFile(join(PARTS, "config.json"), "utf8")));
  await saveCausalLm(folder, model, model.init(key(seed)));
  for (const name of ["tokenizer.json", "tokenizer_config.json"])
    await cp(join(PARTS, name), join(folder, name));
  const sums = Array.from(
    { length: SUMMANDS ** 2 },
    (_, at) => [Math.floor(at / SUMMANDS), at % SUMMANDS] as const,
  );
  const file = async (name: string, rows: readonly object[]): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    return path;
  };
  const order = permutation(sums.length, randomStream(seed));
  const asked = Array.from(order, (at) => {
    const [a, b] = sums[at] as readonly [number, number];
    return { prompt: `${a} plus ${b} is `, completion: String(a + b) };
  });
  return {
    pretrain: await file(
      "pretrain.jsonl",
      sums.map(([a, b]) => ({ text: `${a} + ${b} = ${a + b}` })),
    ),
    train: await file("train.jsonl", asked.slice(HELD_OUT)),
    heldOut: await file("held-out.jsonl", asked.slice(0, HELD_OUT)),
  };
}
