/** Sends requests to the hub, with errors by status. */
import { MpError } from "@mp/graph";
import { TransientError, type Waiting } from "./retries.js";
import type { Settings } from "./settings.js";

export type Hub = Pick<Settings, "endpoint" | "token" | "timeoutMs"> & Waiting;

/** Remedies for error messages, by HTTP status. */
const REMEDIES: Readonly<Record<number, (endpoint: string) => string>> = {
  401: (endpoint) =>
    `it is private or does not exist, or the token is not valid: check the name, and give a token of ${endpoint}/settings/tokens as token or in HF_TOKEN`,
  403: () =>
    "the token may not read it: accept the conditions on its page, or give a token that may read it as token or in HF_TOKEN",
  404: () => "there is no such repository, revision or file: check the name and the revision",
  429: () => "the hub wants fewer requests: try again later, or give a token as token or in HF_TOKEN",
};
/** Statuses below 500 that justify another attempt. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Fetches once. The token is sent only to the hub's own address.
 * @param what the subject of messages, such as `org/model`
 * @throws MP_IO for an error status; TransientError if there is no answer, or its status justifies another attempt
 */
export async function request(
  hub: Hub,
  what: string,
  url: string,
  { headers, ...rest }: RequestInit,
): Promise<Response> {
  const { endpoint, token } = hub;
  const sent = new Headers(headers);
  const isHubs = new URL(url).origin === new URL(endpoint).origin;
  if (token !== undefined && isHubs) sent.set("authorization", `Bearer ${token}`);
  const response = await fetch(url, { ...rest, headers: sent }).catch((cause) => {
    throw unreachable(what, endpoint, cause);
  });
  if (response.ok) return response;
  await response.body?.cancel().catch(() => undefined);
  const { status } = response;
  const afterMs = retryAfterMs(response);
  const remedy = REMEDIES[status]?.(endpoint) ?? "try again later";
  const asked = afterMs > 0 ? `; it asks for ${afterMs / 1000} s of patience` : "";
  const details = { repo: what, endpoint, status, error: response.headers.get("x-error-code") };
  const message = `download: ${what}: ${endpoint} answers ${status}; ${remedy}${asked}`;
  const failure = new MpError("MP_IO", message, { details });
  throw status >= 500 || TRANSIENT.has(status) ? new TransientError(failure, afterMs) : failure;
}

/** The pause that the server asks for, in milliseconds; the hub's own header is `RateLimit: "api";r=0;t=55`. */
function retryAfterMs({ headers }: Response): number {
  const [, limited] = /\bt=(\d+)/.exec(headers.get("ratelimit") ?? "") ?? [];
  return 1000 * (Number(headers.get("retry-after") ?? limited) || 0);
}

/** A TransientError for a missing answer, or one that broke off. */
export function unreachable(what: string, endpoint: string, cause: unknown): TransientError {
  const { code, message } = (cause instanceof Error ? (cause.cause ?? cause) : {}) as NodeJS.ErrnoException;
  const said = typeof code === "string" ? code : (message ?? String(cause));
  return new TransientError(
    new MpError(
      "MP_IO",
      `download: ${what}: ${endpoint} cannot be reached, or the connection breaks off (${said}); try again, what has come is kept; offline: true takes what the cache has`,
      { details: { repo: what, endpoint, reason: said }, cause },
    ),
  );
}
