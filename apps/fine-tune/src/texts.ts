import { MpError } from "@mp/core";
import { type Dataset, mapDataset } from "@mp/data";
import { type CausalExample, readRows } from "@mp/data/rows";
import type { ChatMessage, Tokenizer } from "@mp/language-models/tokenizer";

type Encode = (row: Row, by: Tokenizer) => Promise<CausalExample>;

/** The accepted columns of a row, and how to encode each set of them. */
const SHAPES: readonly (readonly [columns: readonly string[], encode: Encode])[] = [
  [["messages"], ({ messages }, by) => by.encodeChat(messages as ChatMessage[])],
  pairShape("prompt", "completion"),
  pairShape("prompt", "answer"),
  pairShape("question", "answer"),
  [["text"], async (row, by) => ({ ids: endText(by, await by.encode(readText(row, "text"))) })],
];

type Row = Readonly<Record<string, unknown>>;

/**
 * Reads rows of a file as examples. Only answers count in rows that separate them from a prompt.
 * @param most largest number of tokens of an example
 */
export async function readExamples(
  path: string,
  tokenizer: Tokenizer,
  most: number,
): Promise<Dataset<CausalExample>> {
  // Rows may have other columns, such as ids that no number holds exactly.
  const rows = await readRows(path, { bigIntegers: true });
  return mapDataset(rows, async (row: Row) => {
    const example = await encodeRow(row, tokenizer);
    if (example.ids.length <= most) return example;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `a text must have at most the ${most} tokens of --length, got ${example.ids.length}; pass a greater --length, or shorten it`,
    );
  });
}

/** @throws MP_INVALID_ARGUMENT for a row without the columns of a text */
export async function encodeRow(row: Row, tokenizer: Tokenizer): Promise<CausalExample> {
  for (const [columns, encode] of SHAPES)
    if (columns.every((name) => Object.hasOwn(row, name))) return encode(row, tokenizer);
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `a row must have the columns ${SHAPES.map(([columns]) => columns.join(" and ")).join(", or ")}, got ${Object.keys(row).join(", ")}; rename the row's columns`,
  );
}

function pairShape(prompt: string, answer: string): readonly [readonly string[], Encode] {
  const encode: Encode = async (row, by) => {
    const asked = await by.encode(readText(row, prompt));
    const reply = endText(by, await by.encode(readText(row, answer), { addSpecialTokens: false }));
    return { ids: [...asked, ...reply], mask: [...asked.map(() => 0), ...reply.map(() => 1)] };
  };
  return [[prompt, answer], encode];
}

function readText(row: Row, column: string): string {
  const text = row[column];
  if (typeof text === "string") return text;
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `the column ${column} must be a text, got ${JSON.stringify(text)}; write it as one, or leave the row out`,
  );
}

const endText = ({ special }: Tokenizer, ids: readonly number[]): readonly number[] =>
  special.eos === undefined || ids.at(-1) === special.eos ? ids : [...ids, special.eos];
