// Datasets

export type { ArrayDatasetOptions } from "./array-dataset.js";
export { arrayDataset } from "./array-dataset.js";
export type { BatchIterator, BatchPosition, Dataset, IndexedDatasetOptions } from "./dataset.js";
export { indexedDataset, mapDataset } from "./dataset.js";
export type { RandomStream } from "./random.js";
export { permutation, randomStream } from "./random.js";
// Text
export type { LanguageModelBatch, LanguageModelOptions } from "./text/language-model-batches.js";
export { languageModelBatches } from "./text/language-model-batches.js";
export { markdownToProse } from "./text/markdown-prose.js";
export type { PackageText, TextCorpusOptions } from "./text/package-prose.js";
export { markdownProse, textCorpus } from "./text/package-prose.js";
export { pennTreebank } from "./text/penn-treebank.js";
export type { CorpusParts, CorpusSource, TextCorpus } from "./text/text-corpus.js";
export { readText } from "./text/text-folder.js";
export { END_OF_SENTENCE, tokenize, UNKNOWN_WORD } from "./text/tokenize.js";
export type { Vocabulary } from "./text/vocabulary.js";
export { buildVocabulary, decodeWords, encodeCorpus, vocabularyOf } from "./text/vocabulary.js";
