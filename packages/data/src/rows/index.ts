/** `@mp/data/rows`: reads rows of files, shuffles them, and makes batches of texts for causal language models. */

// Rows of files

export type { ColumnType, RowColumns, RowMessage, RowOf } from "./columns.js";
export { type ReadRowsOptions, readRows } from "./read-rows.js";
export { type ShuffleOptions, shuffleDataset } from "./shuffle-dataset.js";

// Batches of texts

export { type CausalBatch, type CausalBatchOptions, causalBatches } from "./causal-batches.js";
export { type CausalExample, causalColumns, type TooLong } from "./causal-example.js";
