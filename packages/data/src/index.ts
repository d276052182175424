// Datasets

export type { ArrayBatch, ArrayDatasetOptions } from "./array-dataset.js";
export { arrayDataset } from "./array-dataset.js";
export type { BatchingOptions } from "./batching.js";
export type { BucketBatch, BucketByOptions, BucketColumn } from "./bucket-by.js";
export { bucketBy } from "./bucket-by.js";
export type { BatchIterator, BatchPosition, Dataset, IndexedDatasetOptions } from "./dataset.js";
export { indexedDataset, mapDataset } from "./dataset.js";
export { datasetSignature } from "./dataset-signature.js";
export type { RandomStream } from "./random.js";
export { permutation, randomStream } from "./random.js";
export { rankDataset } from "./rank-dataset.js";

// Batches made on another thread

export type { PrefetchOptions, WorkerDatasetOptions } from "./prefetch/prefetch.js";
export { workerDataset } from "./prefetch/prefetch.js";

// Images

export { cifar10 } from "./image/cifar10.js";
export type { ImageSize } from "./image/decode-image.js";
export { readImage } from "./image/decode-image.js";
export { readIdx } from "./image/idx.js";
export type { ImageFolderOptions } from "./image/image-folder.js";
export { imageFolder } from "./image/image-folder.js";
export type { AugmentOptions } from "./image/image-painter.js";
export type { ImageSplits, LabeledImages } from "./image/labeled-images.js";
export { mnist } from "./image/mnist.js";
export { readImageFiles } from "./image/read-image-files.js";
export { readImages } from "./image/read-images.js";
export type { ChannelStatistics, ImageBatch, ImageBatchOptions } from "./prefetch/image-batches.js";
export { channelStatistics, imageBatches } from "./prefetch/image-batches.js";

// Text

export type { LanguageModelBatch, LanguageModelOptions } from "./text/language-model-batches.js";
export { languageModelBatches } from "./text/language-model-batches.js";
export { markdownToProse } from "./text/markdown-prose.js";
export type { PackageText, TextCorpusOptions } from "./text/package-prose.js";
export { textCorpus } from "./text/package-prose.js";
export { pennTreebank } from "./text/penn-treebank.js";
export type { CorpusParts, CorpusSource, TextCorpus } from "./text/text-corpus.js";
export { readText } from "./text/text-folder.js";
export { END_OF_SENTENCE, tokenize, UNKNOWN_WORD } from "./text/tokenize.js";
export type { Vocabulary } from "./text/vocabulary.js";
export { buildVocabulary, decodeWords, encodeCorpus, vocabularyOf } from "./text/vocabulary.js";

// Boxes

export type { AnnotatedImage, Box, BoxAnnotations, LabeledBox } from "./boxes/annotations.js";
export { cocoBoxes } from "./boxes/coco.js";
export { vocBoxes } from "./boxes/voc.js";

// Generated sets

export type { ShapeImagesOptions } from "./shapes/shape-images.js";
export { shapeImages } from "./shapes/shape-images.js";
export type { Scenes, ShapeScenesOptions } from "./shapes/shape-scenes.js";
export { shapeScenes } from "./shapes/shape-scenes.js";
