/**
 * Limits on untrusted bytes. Decoded objects need about a hundred times the memory of their bytes in the file (an empty
 * message is two bytes), so counts are limited as well as sizes.
 */
export interface ScanLimits {
  /** Bytes of the whole file; protobuf itself allows at most 2^31 - 1. */
  readonly maxBytes: number;
  /** Depth of nested messages; the model itself counts as 1. */
  readonly maxDepth: number;
  readonly maxMessages: number;
  /** Fields in all messages, including unknown ones. */
  readonly maxFields: number;
  /** Elements of repeated numeric fields (dims, ints, float_data, …), without raw tensor data. */
  readonly maxNumbers: number;
  /** Bytes of any one string: a name, a metadata value, a doc string. */
  readonly maxStringBytes: number;
  /** Nodes of the graph, its subgraphs and functions together. */
  readonly maxNodes: number;
  /** Initializers and tensors in attributes together. */
  readonly maxTensors: number;
  /** Bytes of raw and typed data of all tensors together. */
  readonly maxTensorBytes: number;
}

/** The limits of `scanModel` unless others are given. */
export const defaultScanLimits: ScanLimits = {
  maxBytes: 2 ** 31 - 1,
  maxDepth: 64,
  maxMessages: 2 ** 20,
  maxFields: 2 ** 22,
  maxNumbers: 2 ** 22,
  maxStringBytes: 2 ** 20,
  maxNodes: 2 ** 17,
  maxTensors: 2 ** 16,
  maxTensorBytes: 2 ** 30,
};
