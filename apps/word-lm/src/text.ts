import { defaultCorpus } from "@mp/cli/corpus";
import { buildVocabulary, type CorpusParts, encodeCorpus, readText } from "@mp/data";

/** A text as the model reads it: word indices of its three parts, and facts about their source for the result. */
export interface Text extends CorpusParts {
  /** Size of the vocabulary, smaller than requested if the text has fewer words. */
  readonly vocabularySize: number;
  readonly summary: Readonly<Record<string, unknown>>;
}

/** Reads the files in `directory`, or the prose that came with the app's dependencies. @throws MP_IO, MP_PARSE */
export async function loadText(directory: string | undefined, vocabularySize: number): Promise<Text> {
  const corpus = directory === undefined ? await defaultCorpus() : await readText(directory);
  const vocabulary = buildVocabulary(corpus, vocabularySize);
  const { tokens, sha256, sources } = corpus;
  return {
    ...encodeCorpus(corpus, vocabulary),
    vocabularySize: vocabulary.size,
    summary: { tokens, sha256, vocabulary: vocabulary.size, sources },
  };
}
