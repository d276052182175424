/** Limits for reading untrusted files. */
export interface SafetensorsLimits {
  /** Bytes of the header, checked before it is read. Default 100 000 000, as in the reference implementation. */
  readonly maxHeaderBytes?: number;
  /** Number of tensors, and of metadata entries. Default 1 000 000 each. */
  readonly maxEntries?: number;
  /** Dimensions of a tensor. Default 64, the maximum of NumPy and PyTorch. */
  readonly maxDimensions?: number;
  /** Bytes of all tensors together. Default: only the file's size limits them. */
  readonly maxDataBytes?: number;
}

export const defaultLimits: Required<SafetensorsLimits> = {
  maxHeaderBytes: 100_000_000,
  maxEntries: 1_000_000,
  maxDimensions: 64,
  maxDataBytes: Number.MAX_SAFE_INTEGER,
};
