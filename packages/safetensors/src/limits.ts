/** Limits on what a reader accepts from a file that it does not trust. */
export interface SafetensorsLimits {
  /** Checked before the header is allocated or looked at. Default 100 000 000, as in the reference implementation. */
  readonly maxHeaderBytes?: number;
  /** Tensors, and apart from them metadata entries. Default 1 000 000. */
  readonly maxEntries?: number;
  /** Dimensions of a tensor. Default 64, which NumPy and PyTorch cannot exceed either. */
  readonly maxDimensions?: number;
  /** Bytes of all tensors together. Default: no limit but the file's own size. */
  readonly maxDataBytes?: number;
}

export const defaultLimits: Required<SafetensorsLimits> = {
  maxHeaderBytes: 100_000_000,
  maxEntries: 1_000_000,
  maxDimensions: 64,
  maxDataBytes: Number.MAX_SAFE_INTEGER,
};
