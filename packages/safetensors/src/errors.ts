/** Error codes; they do not change within a major version, unlike messages. */
const SAFETENSORS_ERROR_CODES = [
  "SAFETENSORS_INVALID_ARGUMENT",
  "SAFETENSORS_PARSE",
  "SAFETENSORS_UNSUPPORTED",
  "SAFETENSORS_OUT_OF_MEMORY",
  "SAFETENSORS_IO",
] as const;

export type SafetensorsErrorCode = (typeof SAFETENSORS_ERROR_CODES)[number];

export interface SafetensorsErrorOptions {
  /** JSON-serializable details for programs: the problem's kind, the tensor, the path, the errno. Frozen. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/** The error of every failure in this package. Check `code` to distinguish failures. */
export class SafetensorsError<C extends SafetensorsErrorCode = SafetensorsErrorCode> extends Error {
  override readonly name = "SafetensorsError";
  readonly code: C;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: C, message: string, options: SafetensorsErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = Object.freeze({ ...options.details });
  }

  /** True for an error of any installed copy of this package; with `code`, only for that code. */
  static is<C extends SafetensorsErrorCode = SafetensorsErrorCode>(
    error: unknown,
    code?: C,
  ): error is SafetensorsError<C> {
    if (!(error instanceof Error) || error.name !== "SafetensorsError") return false;
    const actual = (error as { code?: unknown }).code;
    return code === undefined
      ? (SAFETENSORS_ERROR_CODES as readonly unknown[]).includes(actual)
      : actual === code;
  }
}
