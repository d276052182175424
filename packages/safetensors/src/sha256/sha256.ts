/** SHA-256 of bytes that arrive in pieces. */
export interface Sha256 {
  update(bytes: Uint8Array): void;
  /** The hash as 64 hex digits; nothing can be added afterwards. */
  digest(): string;
}
