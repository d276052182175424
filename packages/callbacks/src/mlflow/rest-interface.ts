import { setTimeout as pause } from "node:timers/promises";

/** Statuses after which MLflow's own client tries again. */
const TRANSIENT = new Set([408, 425, 429, 500, 502, 503, 504]);
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS, TIMEOUT_MS] = [1000, 5000, 60_000];

/** An answer that another try would not change, such as 401. */
export class Refusal extends Error {
  /** MLflow's code, such as `RESOURCE_DOES_NOT_EXIST`. */
  readonly code: unknown;

  constructor(path: string, status: number, answer: Readonly<Record<string, unknown>>) {
    const { error_code: code, message } = answer;
    const parts = [`${path} was answered by`, status, code, message];
    super(parts.filter((part) => part !== undefined).join(" "));
    this.code = code;
  }
}

/** MLflow's REST interface at an address, https://mlflow.org/docs/latest/rest-api.html, of which it calls version 2.0. */
export interface RestInterface {
  /** Calls `api/2.0/mlflow/PATH` until it is answered. @throws Refusal; the signal's reason */
  call(path: string, body: object): Promise<Readonly<Record<string, unknown>>>;
}

/** The server and the way to call it, and a function that hears of failures. */
export interface RestOptions {
  readonly uri: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Ends all calls and pauses. */
  readonly signal: AbortSignal;
  /** Called at each failure that is followed by another try. */
  readonly onFailure: (reason: string) => void;
}

/** Makes an interface that tries again after 1, 2, 4 and then every 5 seconds. */
export function restInterface({ uri, headers, signal, onFailure }: RestOptions): RestInterface {
  const attempt = async (path: string, body: object) => {
    const isQuery = path.endsWith("get-by-name");
    const query = isQuery ? `?${new URLSearchParams(body as Record<string, string>)}` : "";
    const response = await fetch(`${uri.replace(/\/+$/, "")}/api/2.0/mlflow/${path}${query}`, {
      method: isQuery ? "GET" : "POST",
      headers: { "content-type": "application/json", ...headers },
      ...(isQuery ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    if (TRANSIENT.has(response.status)) throw new Error(`${path} was answered by ${response.status}`);
    const answer = (await response.json().catch(() => ({}))) as Readonly<Record<string, unknown>>;
    if (!response.ok) throw new Refusal(path, response.status, answer);
    return answer;
  };
  return {
    call: async (path, body) => {
      for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(2 * wait, LONGEST_PAUSE_MS)) {
        try {
          return await attempt(path, body);
        } catch (error) {
          if (error instanceof Refusal || signal.aborted) throw error;
          const { message, cause } = error as Error;
          onFailure(cause instanceof Error ? cause.message : message);
          await pause(wait, undefined, { signal, ref: false });
        }
      }
    },
  };
}
