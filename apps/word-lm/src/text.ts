import { defaultCorpus } from "@mp/cli/corpus";
import { buildVocabulary, encodeCorpus, readText, type TextCorpus } from "@mp/data";

/** A text as the model reads it: word indices, and what a result says about their source. */
export interface Text {
  readonly train: Int32Array;
  readonly valid: Int32Array;
  readonly test: Int32Array;
  /** May be smaller than requested, when the text has fewer words. */
  readonly vocabularySize: number;
  readonly summary: Readonly<Record<string, unknown>>;
}

/** Reads the files in `directory`, or the prose that came with the app's dependencies. @throws MP_IO, MP_PARSE */
export async function loadText(directory: string | undefined, vocabularySize: number): Promise<Text> {
  const corpus: TextCorpus = directory === undefined ? await defaultCorpus() : await readText(directory);
  const vocabulary = buildVocabulary(corpus, vocabularySize);
  const { train, valid, test } = encodeCorpus(corpus, vocabulary);
  const { tokens, sha256, sources } = corpus;
  return {
    train,
    valid,
    test,
    vocabularySize: vocabulary.size,
    summary: { tokens, sha256, vocabulary: vocabulary.size, sources },
  };
}
