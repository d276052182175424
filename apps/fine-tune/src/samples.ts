import type { Backend } from "@mp/core";
import type { CausalExample } from "@mp/data/rows";
import { generator } from "@mp/language-models";
import type { Tuning, Weights } from "./tuning.js";

/** Largest number of tokens of a sample. */
const LONGEST = 48;

/** Prints how the model now continues the first held-out examples, one a line, by the most likely token each time. */
export async function writeSamples(
  { training, model, adapted, heldOutExamples, tokenizer }: Tuning,
  { base, adapters }: Weights,
  { backend, count }: { readonly backend: Backend; readonly count: number },
): Promise<readonly string[]> {
  const prompts: (readonly number[])[] = [];
  for await (const example of heldOutExamples) {
    if (prompts.length === count) break;
    const prompt = promptTokens(example);
    if (prompt.length < model.sizes.positions) prompts.push(prompt);
  }
  if (prompts.length === 0) return [];
  const length = Math.min(model.sizes.positions, Math.max(...prompts.map((ids) => ids.length)) + LONGEST);
  const writer = await generator({
    backend,
    model,
    params: base,
    length,
    precision: training.precision,
    onWarning: () => {},
    ...(adapted === undefined ? {} : { adapter: { adapted, adapters } }),
  });
  try {
    const { eos } = tokenizer.special;
    const lines: string[] = [];
    for (const prompt of prompts) {
      const maxTokens = Math.min(LONGEST, length - prompt.length);
      const options = { temperature: 0, maxTokens, stop: eos === undefined ? [] : [eos] };
      const tokens: number[] = [];
      for await (const token of writer.generate(prompt, options)) tokens.push(token);
      const [asked, written] = [await tokenizer.decode(prompt), await tokenizer.decode(tokens)];
      lines.push(`${JSON.stringify(asked)} → ${JSON.stringify(written)}`);
    }
    return lines;
  } finally {
    await writer.dispose();
  }
}

/** The prompt of an example: the tokens before the first that counts in the loss, or half of the text if all count. */
function promptTokens({ ids, mask }: CausalExample): readonly number[] {
  const all = Array.from(ids);
  const first = mask === undefined ? 0 : Array.from(mask, Number).indexOf(1);
  return all.slice(0, first > 0 ? first : Math.ceil(all.length / 2));
}
