/** Tests of a decoder of Hugging Face on an engine: its text with the cache, and adapters beside a base. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { adamW, type Backend, float32, key, type Tensor, tensor, trainer } from "@mp/core";
import { reference } from "@mp/core/reference";
import { lora } from "@mp/nn/adapters";
import { describe, expect, it } from "vitest";
import { generate, loadCausalLm, nextTokenLoss } from "../src/index.js";

type Base = "f32" | "bf16" | "int8" | "nf4";

const root = fileURLToPath(new URL("./fixtures/transformers/", import.meta.url));
const greedyOf = async (name: string): Promise<readonly number[]> =>
  JSON.parse(await readFile(`${root}${name}/expected.json`, "utf8")).greedy;

/** @param bases how the engine can hold frozen weights */
export function describeDecoder(open: () => Promise<Backend>, bases: readonly Base[]): void {
  describe.each(["llama-grouped", "qwen3", "mistral", "gpt2"])("%s", (name) => {
    it("writes transformers' greedy tokens", async () => {
      const greedy = await greedyOf(name);
      const backend = await open();
      const own = { backend, ...(await loadCausalLm(root + name)), precision: float32() };
      const tokens: number[] = [];
      for await (const token of generate(own, greedy.slice(0, 4), { temperature: 0, maxTokens: 40 }))
        tokens.push(token);
      expect(tokens).toEqual(greedy.slice(4, 44));
      await backend.dispose();
    });

    it.each(bases)("trains adapters beside a base in %s as the reference does", async (base) => {
      const ids = tensor(Int32Array.from((await greedyOf(name)).slice(0, 32)), [2, 16]);
      const losses = await lossesOn(await open(), { name, base, ids });
      for (const [step, loss] of (await lossesOn(await reference(), { name, base, ids })).entries())
        expect(losses[step], `step ${step}`).toBeCloseTo(loss, 3);
    });
  });
}

async function lossesOn(
  backend: Backend,
  run: { readonly name: string; readonly base: Base; readonly ids: ReturnType<typeof tensor> },
): Promise<readonly number[]> {
  const { model, params } = await loadCausalLm(root + run.name, { base: run.base, remat: "blocks" });
  const adapted = lora(model, { targets: "all-linear" });
  const training = await trainer({
    backend,
    params: { base: params, adapters: adapted.init(key(1)) },
    frozen: { base: true },
    loss: ({ base, adapters }, { ids }: { readonly ids: Tensor }, context) =>
      nextTokenLoss(adapted.apply(adapters, base, { ids }, context), ids),
    optimizer: adamW({ learningRate: 1e-2 }),
    precision: float32(),
  });
  const losses: number[] = [];
  for (let step = 0; step < 4; step++) losses.push((await training.step({ ids: run.ids })).loss);
  await training.dispose();
  await backend.dispose();
  return losses;
}
