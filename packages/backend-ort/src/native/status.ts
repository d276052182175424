import { type ErrorCode, MpError } from "@mp/graph";
import type { NativeFunctions } from "./api-table.js";

/** Names of OrtErrorCode's values; the index of a name is its value. */
const ORT_ERROR_NAMES = [
  "ORT_OK",
  "ORT_FAIL",
  "ORT_INVALID_ARGUMENT",
  "ORT_NO_SUCHFILE",
  "ORT_NO_MODEL",
  "ORT_ENGINE_ERROR",
  "ORT_RUNTIME_EXCEPTION",
  "ORT_INVALID_PROTOBUF",
  "ORT_MODEL_LOADED",
  "ORT_NOT_IMPLEMENTED",
  "ORT_INVALID_GRAPH",
  "ORT_EP_FAIL",
  "ORT_MODEL_LOAD_CANCELED",
  "ORT_MODEL_REQUIRES_COMPILATION",
  "ORT_NOT_FOUND",
  "ORT_DEVICE_RESET",
] as const;

type OrtErrorName = (typeof ORT_ERROR_NAMES)[number];

/** Error codes by ORT's codes; an unlisted one, a failure of the engine itself, means MP_BACKEND_FAILED. */
const CODES: Partial<Readonly<Record<OrtErrorName, ErrorCode>>> = {
  ORT_INVALID_ARGUMENT: "MP_INVALID_ARGUMENT",
  ORT_INVALID_PROTOBUF: "MP_INVALID_ARGUMENT",
  ORT_INVALID_GRAPH: "MP_INVALID_ARGUMENT",
  ORT_NOT_IMPLEMENTED: "MP_UNSUPPORTED",
};

/**
 * Matches messages about failed allocations. Such failures have no code of their own, but come back as ORT_FAIL or
 * ORT_RUNTIME_EXCEPTION. On WebGPU a buffer that could not be allocated is invalid from then on.
 */
const OUT_OF_MEMORY =
  /bad_alloc|failed to allocate memory|available memory of|out of memory|OUT_OF_MEMORY|ALLOC_FAILED|Invalid Buffer/i;

/**
 * Matches messages about indices out of range and integer divisions by 0. Only a run detects these errors, and the
 * engine reports them as an invalid argument or a failure.
 */
const OUT_OF_RANGE =
  /out of (data )?bounds|out of range|within the inclusive range|must be within bounds|invalid ind(ice|ex)|indices must be empty|integer (division|modulo) by zero/i;

/** Translates an OrtErrorCode and its message into an error code of this SDK. */
export function translateCode(ortCode: number, message: string): ErrorCode {
  if (OUT_OF_MEMORY.test(message)) return "MP_OUT_OF_MEMORY";
  if (OUT_OF_RANGE.test(message)) return "MP_OUT_OF_RANGE";
  return CODES[ORT_ERROR_NAMES[ortCode] ?? "ORT_FAIL"] ?? "MP_BACKEND_FAILED";
}

/**
 * Throws the error of a status, after releasing it; null means success.
 * @throws MP_BACKEND_FAILED, MP_OUT_OF_MEMORY, MP_OUT_OF_RANGE, MP_INVALID_ARGUMENT or MP_UNSUPPORTED, by the
 *   engine's code
 */
export function checkStatus(functions: NativeFunctions, status: bigint | null, what: string): void {
  if (status === null) return;
  const ortCode = functions.GetErrorCode(status);
  const message = functions.GetErrorMessage(status);
  functions.ReleaseStatus(status);
  throw new MpError(translateCode(ortCode, message), `${what}: ${message}`, {
    details: { ortCode: ORT_ERROR_NAMES[ortCode] ?? ortCode },
  });
}
