import { MpError } from "@mp/core";
import { checks } from "@mp/graph/internal";
import type { Tokenizer } from "./tokenizer.js";

const isTokenizer = checks.claim(
  "a tokenizer of loadTokenizer",
  (value) => typeof (value as Tokenizer | undefined)?.vocabularySize === "number",
);

/**
 * Checks that a model has an embedding for each token of a tokenizer. It may have more, as is common.
 * @param vocabularySize the `vocab_size` of the model's `config.json`
 * @throws MP_OUT_OF_RANGE naming the file
 */
export function checkFits(tokenizer: Tokenizer, vocabularySize: number): void {
  isTokenizer("checkFits: tokenizer", tokenizer);
  checks.integer(1)("checkFits: vocabularySize", vocabularySize);
  const { file, vocabularySize: needed } = tokenizer;
  if (needed <= vocabularySize) return;
  throw new MpError(
    "MP_OUT_OF_RANGE",
    `checkFits: ${file} has tokens up to ${needed - 1}, the model's vocabulary ends at ${vocabularySize - 1}; take the tokenizer of the model's own folder, or a model whose vocab_size is at least ${needed}`,
    { details: { file, tokens: needed, vocabularySize } },
  );
}
