/** `@mp/data/rows`: reads rows of files, shuffles them, and makes batches of texts for causal language models. */

// Rows of files

export type { ColumnType, RowColumns, RowOf } from "./columns.js";
export type { ReadRowsOptions } from "./read-rows.js";
export { readRows } from "./read-rows.js";
export type { ShuffleOptions } from "./shuffle-dataset.js";
export { shuffleDataset } from "./shuffle-dataset.js";

// Batches of texts

export type { CausalBatch, CausalBatchOptions } from "./causal-batches.js";
export { causalBatches } from "./causal-batches.js";
export type { CausalExample, TooLong } from "./causal-example.js";
export { causalColumns } from "./causal-example.js";
