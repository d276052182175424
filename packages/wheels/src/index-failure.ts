import { MpError } from "@mp/graph";

const REASON = "index-unreachable";

/** The error if no package index answered: the only failure that says nothing about this machine. */
export function indexUnreachable(what: string, said: string, cause?: unknown): MpError {
  return new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `${what}: the package index cannot be reached (${said}); check the network and pip's configuration (pip config list), or fetch the wheel elsewhere and name it with --wheel`,
    { details: { reason: REASON }, cause },
  );
}

export function isIndexUnreachable(error: unknown): boolean {
  return MpError.is(error, "MP_BACKEND_UNAVAILABLE") && error.details["reason"] === REASON;
}
