/**
 * Limits on bytes from outside. A reader's objects cost some hundred times the bytes that announce them (an empty
 * message is two bytes), so counts are capped and not only sizes.
 */
export interface ScanLimits {
  /** Bytes of the whole file; protobuf itself ends at 2^31 - 1. */
  readonly maxBytes: number;
  /** Nested messages, the model itself being the first. */
  readonly maxDepth: number;
  readonly maxMessages: number;
  /** Fields of all messages together, unknown ones included. */
  readonly maxFields: number;
  /** Elements of repeated numeric fields (dims, ints, float_data, …); raw tensor data is not among them. */
  readonly maxNumbers: number;
  /** Bytes of one string: a name, a metadata value, a doc string. */
  readonly maxStringBytes: number;
  /** Nodes of the graph, of its subgraphs and of functions together. */
  readonly maxNodes: number;
  /** Initializers and tensors in attributes together. */
  readonly maxTensors: number;
  /** Raw and typed data of all tensors together. */
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
