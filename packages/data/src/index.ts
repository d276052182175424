// Datasets

export { type ArrayBatch, type ArrayDatasetOptions, arrayDataset } from "./array-dataset.js";
export type { BatchingOptions } from "./batching.js";
export { type BucketBatch, type BucketByOptions, type BucketColumn, bucketBy } from "./bucket-by.js";
export type { BatchIterator, BatchPosition, Dataset, IndexedDatasetOptions } from "./dataset.js";
export { indexedDataset, mapDataset } from "./dataset.js";
export { datasetSignature } from "./dataset-signature.js";
export { permutation, type RandomStream, randomStream } from "./random.js";
export { rankDataset } from "./rank-dataset.js";

// Batches made on another thread

export { type WorkerDatasetOptions, workerDataset } from "./prefetch/prefetch.js";

// Images

export type { AugmentOptions, ColorOptions } from "./image/augment-options.js";
export { type ChannelStatistics, channelStatistics } from "./image/channel-statistics.js";
export { cifar10 } from "./image/cifar10.js";
export { type ImageSize, readImage } from "./image/decode-image.js";
export { readIdx } from "./image/idx.js";
export { type ImageFolderOptions, type ImageFolderWarning, imageFolder } from "./image/image-folder.js";
export type { ImageSplits, LabeledImages } from "./image/labeled-images.js";
export { mnist } from "./image/mnist.js";
export { readImageFiles } from "./image/read-image-files.js";
export { readImages } from "./image/read-images.js";
export {
  type ImageBatch,
  type ImageBatchOf,
  type ImageBatchOptions,
  imageBatches,
  type MixedImageBatch,
} from "./prefetch/image-batches.js";

// Tables

export { type SplitOptions, splitRows } from "./tables/split-rows.js";
export {
  type ColumnStatistics,
  columnStatistics,
  type StandardizeOptions,
  standardize,
  type TableRow,
} from "./tables/standardize.js";
export { type Windows, type WindowsOptions, windows } from "./tables/windows.js";

// Text

export type { LanguageModelBatch, LanguageModelOptions } from "./text/language-model-batches.js";
export { languageModelBatches } from "./text/language-model-batches.js";
export { markdownToProse } from "./text/markdown-prose.js";
export { type PackageText, type TextCorpusOptions, textCorpus } from "./text/package-prose.js";
export { pennTreebank } from "./text/penn-treebank.js";
export type { CorpusParts, CorpusSource, TextCorpus } from "./text/text-corpus.js";
export { readText } from "./text/text-folder.js";
export { END_OF_SENTENCE, tokenize, UNKNOWN_WORD } from "./text/tokenize.js";
export type { Vocabulary } from "./text/vocabulary.js";
export { buildVocabulary, encodeCorpus } from "./text/vocabulary.js";

// Boxes

export type { AnnotatedImage, Box, BoxAnnotations, LabeledBox } from "./boxes/annotations.js";
export { cocoBoxes } from "./boxes/coco.js";
export { vocBoxes } from "./boxes/voc.js";

// Generated sets

export { type ShapeImagesOptions, shapeImages } from "./shapes/shape-images.js";
export { type Scenes, type ShapeScenesOptions, shapeScenes } from "./shapes/shape-scenes.js";
