import { MpError } from "@mp/core";
import { type Dataset, mapDataset } from "@mp/data";
import { type CausalExample, readRows } from "@mp/data/rows";
import type { ChatMessage, Tokenizer } from "@mp/data/tokenizer";

/** The columns that a text may come in, and how it becomes tokens. */
const SHAPES: readonly (readonly [
  columns: readonly string[],
  encode: (row: Row, by: Tokenizer) => CausalExample,
])[] = [
  [["messages"], ({ messages }, by) => by.encodeChat(messages as ChatMessage[])],
  [["prompt", "completion"], ({ prompt, completion }, by) => answered(by, prompt, completion)],
  [["question", "answer"], ({ question, answer }, by) => answered(by, question, answer)],
  [["text"], ({ text }, by) => ({ ids: ended(by, by.encode(String(text))) })],
];

type Row = Readonly<Record<string, unknown>>;

/**
 * Rows of a file as examples: answers alone count, where a row tells them from its prompt.
 * @param most tokens of an example
 */
export async function examplesOf(
  path: string,
  tokenizer: Tokenizer,
  most: number,
): Promise<Dataset<CausalExample>> {
  const rows = await readRows(path);
  return mapDataset(rows, (row: Row) => {
    const example = exampleOf(row, tokenizer);
    if (example.ids.length <= most) return example;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `a text must have at most the ${most} tokens of --length, got ${example.ids.length}; pass a greater --length, or shorten it`,
    );
  });
}

/** @throws MP_INVALID_ARGUMENT for a row without the columns of a text */
export function exampleOf(row: Row, tokenizer: Tokenizer): CausalExample {
  const shape = SHAPES.find(([columns]) =>
    columns.every((name) => row[name] !== undefined && row[name] !== null),
  );
  if (shape !== undefined) return shape[1](row, tokenizer);
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `a row must have the columns ${SHAPES.map(([columns]) => columns.join(" and ")).join(", or ")}, got ${Object.keys(row).join(", ")}`,
  );
}

function answered(tokenizer: Tokenizer, prompt: unknown, answer: unknown): CausalExample {
  const asked = tokenizer.encode(String(prompt));
  const reply = ended(tokenizer, tokenizer.encode(String(answer), { addSpecialTokens: false }));
  return { ids: [...asked, ...reply], mask: [...asked.map(() => 0), ...reply.map(() => 1)] };
}

const ended = ({ special }: Tokenizer, ids: readonly number[]): readonly number[] =>
  special.eos === undefined || ids.at(-1) === special.eos ? ids : [...ids, special.eos];
