/**
 * Every way a call into the SDK can fail. Codes do not change within a major version, messages may. `docs/errors.md`
 * has one heading per code; a test checks that the two lists agree.
 */
export const ERROR_CODES = [
  "MP_INVALID_ARGUMENT",
  "MP_SHAPE_MISMATCH",
  "MP_DTYPE_MISMATCH",
  "MP_OUT_OF_RANGE",
  "MP_UNSUPPORTED",
  "MP_NOT_DIFFERENTIABLE",
  "MP_NON_FINITE",
  "MP_DISPOSED",
  "MP_BACKEND_FAILED",
  "MP_BACKEND_UNAVAILABLE",
  "MP_OUT_OF_MEMORY",
  "MP_PARSE",
  "MP_CHECKPOINT_MISMATCH",
  "MP_RANK_MISMATCH",
  "MP_IO",
  "MP_SPEC_VERSION",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export interface MpErrorOptions {
  /** JSON-serializable details for programs: the rejected value, the limit, the file. Frozen. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/**
 * The only error class of the SDK. Check `code` to distinguish failures; the message names the value and the remedy.
 */
export class MpError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = "MpError";
  readonly code: C;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: C, message: string, options: MpErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = Object.freeze({ ...options.details });
  }

  /** True for an MpError of any installed copy of this package; with `code`, only for that code. */
  static is<C extends ErrorCode = ErrorCode>(error: unknown, code?: C): error is MpError<C> {
    if (!(error instanceof Error) || error.name !== "MpError") return false;
    const actual = (error as { code?: unknown }).code;
    return code === undefined ? (ERROR_CODES as readonly unknown[]).includes(actual) : actual === code;
  }
}

export const invalid = (message: string, options?: MpErrorOptions): MpError<"MP_INVALID_ARGUMENT"> =>
  new MpError("MP_INVALID_ARGUMENT", message, options);

export const shapeMismatch = (message: string, options?: MpErrorOptions): MpError<"MP_SHAPE_MISMATCH"> =>
  new MpError("MP_SHAPE_MISMATCH", message, options);

export const dtypeMismatch = (message: string, options?: MpErrorOptions): MpError<"MP_DTYPE_MISMATCH"> =>
  new MpError("MP_DTYPE_MISMATCH", message, options);
