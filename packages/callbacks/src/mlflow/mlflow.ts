import { setTimeout as pause } from "node:timers/promises";
import type { FitEnd, FitEpoch, FitPosition } from "@mp/core/fit";
import { checks, invalid, readOptions, withDefault } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { type JsonNumber, toJson } from "../json-number.js";
import { readScalars } from "../scalars.js";
import { Refusal, type RestInterface, restInterface } from "./rest-interface.js";

/** Options of `mlflow`: the server, the run's names, and what is sent. */
export interface MlflowOptions {
  /** Address of the server; default the variable MLFLOW_TRACKING_URI. */
  readonly uri?: string;
  /** Name of the experiment, made if missing; default the variable MLFLOW_EXPERIMENT_NAME, or `Default`. */
  readonly experiment?: string;
  /** Name of the run; default the variable MLFLOW_RUN_NAME, or one that the server makes. */
  readonly run?: string;
  /** Parameters of the run, sent once: at most 100. */
  readonly params?: Readonly<Record<string, string | number | boolean>>;
  /** Iterations between steps that are sent; default 1. Validations are always sent. */
  readonly every?: number;
  /** Longest time in milliseconds that the end of `fit` waits until all is sent; default 10 000. */
  readonly endTimeoutMs?: number;
  /** Called at the first failure, and with what was never sent; by default the message is printed. */
  readonly onWarning?: (message: string) => void;
}

/** MLflow's limit of one request. */
const MOST_METRICS = 1000;
const MOST_PARAMS = 100;
/** Numbers that are kept for a server that does not answer; the oldest go first. */
const MOST_WAITING = 100_000;
const PAUSE_MS = 1000;

const OPTIONS = {
  uri: checks.optional(
    checks.claim(
      "the http or https address of a server, without a password",
      (value) => typeof value === "string" && /^https?:\/\/[^@]+$/.test(value),
    ),
  ),
  experiment: checks.optional(checks.text),
  run: checks.optional(checks.text),
  params: withDefault(
    {},
    checks.claim(
      `an object of at most ${MOST_PARAMS} texts, numbers and booleans`,
      (value) =>
        typeof value === "object" &&
        value !== null &&
        Object.keys(value).length <= MOST_PARAMS &&
        Object.values(value).every((part) => ["string", "number", "boolean"].includes(typeof part)),
    ),
  ),
  every: withDefault(1, checks.count),
  endTimeoutMs: withDefault(10_000, checks.count),
  onWarning: withDefault((message: string) => console.warn(`[mp] ${message}`), checks.callback),
};

interface Metric {
  readonly key: string;
  readonly value: JsonNumber;
  readonly timestamp: number;
  readonly step: number;
}

const STATUS: Readonly<Record<FitEnd["ended"], string>> = {
  steps: "FINISHED",
  epochs: "FINISHED",
  stopped: "FINISHED",
  aborted: "KILLED",
  failed: "FAILED",
};

/**
 * Sends the numbers of a run to an MLflow server by its REST interface: those of steps under `train/`, those of
 * validations under `validation/`. Requests follow one another beside the training, at most one a second; no failure
 * ends the training or holds it up. The end of `fit` waits up to `endTimeoutMs` for what is left. A run that is resumed
 * from a checkpoint goes on in the same run of MLflow. Takes MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and
 * MLFLOW_TRACKING_PASSWORD, from the environment.
 * @throws MP_INVALID_ARGUMENT for invalid options, or without an address
 */
export function mlflow(options: MlflowOptions = {}): AnyCallback {
  const { env } = process;
  const read = readOptions<MlflowOptions, typeof OPTIONS>("mlflow", options, OPTIONS, {
    example: '{ uri: "http://localhost:5000" }',
    elsewhere: { trackingUri: "it is called uri" },
  });
  const { uri = env["MLFLOW_TRACKING_URI"], every, endTimeoutMs, onWarning } = read;
  if (uri === undefined) throw invalid("mlflow: uri must be given, or the variable MLFLOW_TRACKING_URI set");
  OPTIONS.uri("mlflow: MLFLOW_TRACKING_URI", uri);
  const { experiment = env["MLFLOW_EXPERIMENT_NAME"] ?? "Default", run = env["MLFLOW_RUN_NAME"] } = read;
  const params = Object.entries(read.params).map(([key, value]) => ({ key, value: String(value) }));
  let runId: string | null = null;
  let sending: Sending | undefined;
  const add = ({ step }: FitPosition | FitEpoch, prefix: string, result: FitPosition | FitEpoch): void => {
    const timestamp = Date.now();
    const metrics = Object.entries(readScalars(result)).map(([name, value]) => ({
      key: `${prefix}/${name}`,
      value: toJson(value),
      timestamp,
      step,
    }));
    sending?.add(metrics);
  };
  return {
    onStart: () => {
      sending = new Sending(uri, onWarning, async (server) => {
        if (runId !== null) await server.call("runs/update", { run_id: runId, status: "RUNNING" });
        else {
          runId = await startRun(server, experiment, run);
          if (params.length > 0) await server.call("runs/log-batch", { run_id: runId, params });
        }
        return runId;
      });
    },
    onStep: (step) => {
      if (step.step % every === 0) add(step, "train", step);
    },
    onValidation: (validation) => add(validation, "validation", validation),
    onEnd: ({ ended }) => sending?.end(STATUS[ended], endTimeoutMs),
    state: {
      name: `mlflow ${experiment}`,
      save: () => runId,
      load: (saved) => {
        runId = saved as string | null;
      },
    },
  };
}

/** Finds or makes the experiment, and makes a run in it. Returns the run's id. */
async function startRun(
  server: RestInterface,
  experiment: string,
  name: string | undefined,
): Promise<string> {
  const byName = { experiment_name: experiment };
  const found = await server.call("experiments/get-by-name", byName).catch((error: unknown) => {
    if (error instanceof Refusal && error.code === "RESOURCE_DOES_NOT_EXIST") return undefined;
    throw error;
  });
  const { experiment_id: id } =
    (found?.["experiment"] as { readonly experiment_id: string } | undefined) ??
    (await server.call("experiments/create", { name: experiment }));
  const made = await server.call("runs/create", {
    experiment_id: id,
    start_time: Date.now(),
    ...(name === undefined ? {} : { run_name: name }),
  });
  return (made["run"] as { readonly info: { readonly run_id: string } }).info.run_id;
}

/** The requests of one call of `fit`, made one after another beside the training. */
class Sending {
  readonly #deadline = new AbortController();
  readonly #end = new AbortController();
  readonly #waiting: Metric[] = [];
  readonly #onWarning: (message: string) => void;
  readonly #done: Promise<void>;
  #lost = 0;
  #isSilent = true;

  constructor(
    uri: string,
    onWarning: (message: string) => void,
    start: (server: RestInterface) => Promise<string>,
  ) {
    this.#onWarning = onWarning;
    const server = restInterface({
      uri,
      headers: authorization(),
      signal: this.#deadline.signal,
      onFailure: (reason) => this.#warnOnce(`${uri} does not answer, ${reason}; it is tried again`),
    });
    this.#done = this.#send(server, start).catch((error: unknown) => {
      if (!this.#deadline.signal.aborted) this.#warnOnce(`${(error as Error).message}; nothing more is sent`);
      this.#deadline.abort();
    });
  }

  add(metrics: readonly Metric[]): void {
    if (this.#deadline.signal.aborted) this.#lost += metrics.length;
    else this.#waiting.push(...metrics);
    const over = this.#waiting.length - MOST_WAITING;
    if (over > 0) this.#lost += this.#waiting.splice(0, over).length;
  }

  /** Sends what is left, and the status. Resolves after the timeout at the latest; never rejects. */
  async end(status: string, timeoutMs: number): Promise<void> {
    this.#end.abort(status);
    const timer = setTimeout(() => this.#deadline.abort(), timeoutMs);
    await this.#done;
    clearTimeout(timer);
    const lost = this.#lost + this.#waiting.length;
    if (lost > 0) this.#onWarning(`mlflow: ${lost} numbers were not sent`);
  }

  async #send(server: RestInterface, start: (server: RestInterface) => Promise<string>): Promise<void> {
    const { signal } = this.#end;
    const id = await start(server);
    while (!signal.aborted || this.#waiting.length > 0) {
      const metrics = this.#waiting.splice(0, MOST_METRICS);
      if (metrics.length > 0) {
        await server.call("runs/log-batch", { run_id: id, metrics }).catch((error: unknown) => {
          this.#lost += metrics.length;
          throw error;
        });
      }
      if (this.#waiting.length < MOST_METRICS)
        await pause(PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    await server.call("runs/update", { run_id: id, status: signal.reason, end_time: Date.now() });
  }

  #warnOnce(message: string): void {
    if (this.#isSilent) this.#onWarning(`mlflow: ${message}`);
    this.#isSilent = false;
  }
}

/** The header that MLflow's client makes of its variables. */
function authorization(): Readonly<Record<string, string>> {
  const {
    MLFLOW_TRACKING_TOKEN: token,
    MLFLOW_TRACKING_USERNAME: user,
    MLFLOW_TRACKING_PASSWORD: password,
  } = process.env;
  if (user !== undefined && password !== undefined)
    return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` };
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}
