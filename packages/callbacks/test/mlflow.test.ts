/**
 * The logger for MLflow, beside the requests and answers of a real server, which test/fixtures/mlflow.json has. To
 * record them again: `mlflow server --port 5000`, then
 * `MP_MLFLOW_URI=http://127.0.0.1:5000 npx vitest run test/mlflow.test.ts`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tensor } from "@mp/core";
import { afterEach, describe, expect, it, vi } from "vitest";
import { mlflow } from "../src/index.js";
import { batches, smallRun } from "./small-run.js";

interface Exchange {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly answer: unknown;
}
type Answer = (path: string, body: object) => unknown;

const FIXTURE = new URL("fixtures/mlflow.json", import.meta.url);
const REAL = process.env["MP_MLFLOW_URI"];

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
  vi.unstubAllEnvs();
});

/** A server whose answers are those of a function; a number is a status. Returns its address and what it got. */
async function serve(answer: Answer) {
  const got: Exchange[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const path = pathname.replace("/api/2.0/mlflow/", "");
    const body = text === "" ? Object.fromEntries(searchParams) : JSON.parse(text);
    headers.push(request.headers);
    const made = await answer(path, body);
    got.push({ path, body, answer: made });
    const status = typeof made === "number" ? made : ((made as { status?: number }).status ?? 200);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(typeof made === "number" ? {} : made));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  closing.push(() => server.close());
  return { uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, got, headers };
}

/** The answers that a run needs. */
const answers: Readonly<Record<string, unknown>> = {
  "experiments/get-by-name": { experiment: { experiment_id: "7" } },
  "runs/create": { run: { info: { run_id: "r" } } },
};
const usual: Answer = (path) => answers[path] ?? {};

/** Asks the real server, or answers with what it answered in the recorded run. */
function recorded(fixture: readonly Exchange[]): Answer {
  const left = [...fixture];
  return async (path, body) => {
    if (REAL === undefined) {
      const at = left.findIndex((exchange) => exchange.path === path);
      // How many batches there are depends on times.
      return at < 0 ? {} : left.splice(at, 1)[0]?.answer;
    }
    const isQuery = /get/.test(path);
    const query = isQuery ? `?${new URLSearchParams(body as never)}` : "";
    const response = await fetch(`${REAL}/api/2.0/mlflow/${path}${query}`, {
      method: isQuery ? "GET" : "POST",
      headers: { "content-type": "application/json" },
      ...(isQuery ? {} : { body: JSON.stringify(body) }),
    });
    return { ...((await response.json()) as object), ...(response.ok ? {} : { status: response.status }) };
  };
}

type Metrics = readonly { readonly key: string; readonly value: unknown; readonly step: number }[];

/** Requests without times and ids, and with the batches of metrics as one. */
function comparable(exchanges: readonly Exchange[]): readonly unknown[] {
  const metrics = exchanges.flatMap(({ body }) => (body["metrics"] ?? []) as Metrics);
  const others = exchanges.filter(({ body }) => body["metrics"] === undefined);
  return [
    ...others.map(({ path, body }) => {
      const { start_time, end_time, run_id, experiment_id, ...rest } = body;
      return { path, ...rest };
    }),
    metrics.map(({ key, value, step }) => ({ key, value, step })),
  ];
}

describe("mlflow", () => {
  it("sends a run that MLflow's server takes and gives back", async () => {
    const fixture = REAL === undefined ? JSON.parse(readFileSync(FIXTURE, "utf8")) : { exchanges: [] };
    const { uri, got } = await serve(recorded(fixture.exchanges));
    const training = await smallRun();
    const losses: number[] = [];
    const warnings: string[] = [];
    const bad = { ...batches(1)[0], x: tensor(new Float32Array(12).fill(Number.NaN), [4, 3]) } as never;
    await training.fit([...batches(3), bad], {
      epochs: 2,
      validation: { data: batches(1, 7) },
      onStep: ({ loss }) => void losses.push(loss),
      callbacks: [
        mlflow({
          uri,
          experiment: "mp small run",
          run: "recorded",
          params: { optimizer: "sgd", rate: 0.5, settable: true },
          endTimeoutMs: 100_000,
          onWarning: (message) => warnings.push(message),
        }),
      ],
    });
    expect(warnings).toEqual([]);
    const requests = [...got];
    expect(requests.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["experiments/get-by-name", "runs/create", "runs/log-batch", "runs/update"]),
    );
    const id = requests.at(-1)?.body["run_id"] as string;
    const ask = async (path: string, query: Record<string, string>) =>
      (await fetch(`${uri}/api/2.0/mlflow/${path}?${new URLSearchParams(query)}`)).json();
    const { run } = (await ask("runs/get", { run_id: id })) as {
      run: { info: object; data: { params: { key: string; value: string }[] } };
    };
    const history = (await ask("metrics/get-history", { run_id: id, metric_key: "train/loss" })) as {
      metrics: Metrics;
    };
    if (REAL !== undefined) {
      const version = await (await fetch(`${REAL}/version`)).text();
      writeFileSync(FIXTURE, `${JSON.stringify({ mlflow: version, exchanges: got }, undefined, 2)}\n`);
    }
    expect(run.info).toMatchObject({ status: "FINISHED", run_name: "recorded" });
    expect(Object.fromEntries(run.data.params.map(({ key, value }) => [key, value]))).toEqual({
      optimizer: "sgd",
      rate: "0.5",
      settable: "true",
    });
    const sent = [...history.metrics].sort((a, b) => a.step - b.step);
    expect(sent.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(sent.map(({ value }) => Number(value))).toEqual(losses);
    expect(losses[3]).toBeNaN();
    if (REAL === undefined) expect(comparable(got)).toEqual(comparable(fixture.exchanges));
  });

  it("tries again when the server is busy, and makes a missing experiment", async () => {
    let tries = 0;
    const { uri, got } = await serve((path) => {
      if (path === "runs/create" && tries++ === 0) return 503;
      if (path === "experiments/get-by-name") return { status: 404, error_code: "RESOURCE_DOES_NOT_EXIST" };
      return path === "experiments/create" ? { experiment_id: "9" } : usual(path, {});
    });
    const warnings: string[] = [];
    const training = await smallRun();
    await training.fit(batches(2), {
      callbacks: [mlflow({ uri, endTimeoutMs: 100_000, onWarning: (text) => warnings.push(text) })],
    });
    expect(warnings).toEqual([
      `mlflow: ${uri} does not answer, runs/create was answered by 503; it is tried again`,
    ]);
    const made = got.filter(({ path }) => path === "runs/create");
    expect(made.map(({ body }) => body["experiment_id"])).toEqual(["9", "9"]);
    expect(got.at(-1)?.body).toMatchObject({ run_id: "r", status: "FINISHED" });
    const metrics = got.flatMap(({ body }) => (body["metrics"] ?? []) as Metrics);
    expect(metrics.filter(({ key }) => key === "train/loss").map(({ step }) => step)).toEqual([1, 2]);
  });

  it.each<[string, () => Promise<string>, RegExp]>([
    [
      "a server that refuses",
      async () => (await serve(() => ({ status: 401, message: "who are you?" }))).uri,
      /^mlflow: experiments\/get-by-name was answered by 401 who are you\?; nothing more is sent$/,
    ],
    [
      "no server",
      async () => "http://127.0.0.1:9",
      /^mlflow: http:\/\/127.0.0.1:9 does not answer, .*; it is tried again$/,
    ],
  ])("lets the training be with %s, and says what was lost", async (_name, at, message) => {
    const uri = await at();
    const warnings: string[] = [];
    const training = await smallRun();
    let onWarning = (_: string): void => {};
    const warned = new Promise<void>((resolve) => {
      onWarning = (text) => {
        warnings.push(text);
        resolve();
      };
    });
    const { made } = await training.fit(batches(3), {
      // Otherwise the training might end before the server is asked.
      onStep: ({ step }) => (step === 3 ? warned : undefined),
      callbacks: [mlflow({ uri, endTimeoutMs: 1, onWarning })],
    });
    expect(made).toBe(3);
    // Loss, applied, scale, gradNorm, retries, error and one rate, of three steps.
    expect(warnings).toEqual([expect.stringMatching(message), "mlflow: 21 numbers were not sent"]);
  });

  it.each<[Readonly<Record<string, string>>, string | undefined]>([
    [{}, undefined],
    [{ MLFLOW_TRACKING_TOKEN: "t" }, "Bearer t"],
    [
      { MLFLOW_TRACKING_USERNAME: "u", MLFLOW_TRACKING_PASSWORD: "p", MLFLOW_TRACKING_TOKEN: "t" },
      "Basic dTpw",
    ],
  ])("takes address, names and who it is from the environment: %o", async (variables, authorization) => {
    const { uri, got, headers } = await serve(usual);
    const own = { MLFLOW_TRACKING_URI: `${uri}/`, MLFLOW_EXPERIMENT_NAME: "e", MLFLOW_RUN_NAME: "n" };
    for (const [name, value] of Object.entries({ ...own, ...variables })) vi.stubEnv(name, value);
    const training = await smallRun();
    await training.fit(batches(1), { callbacks: [mlflow()] });
    expect(headers.map((each) => each.authorization)).toEqual(headers.map(() => authorization));
    expect(got[0]).toMatchObject({ path: "experiments/get-by-name", body: { experiment_name: "e" } });
    expect(got[1]).toMatchObject({ path: "runs/create", body: { experiment_id: "7", run_name: "n" } });
  });

  it("goes on in the same run after a checkpoint", async () => {
    const { uri, got } = await serve(usual);
    const training = await smallRun();
    await training.fit(batches(2), { callbacks: [mlflow({ uri })] });
    const saved = await training.saveBytes();
    const resumed = await smallRun();
    await resumed.loadBytes(saved);
    got.length = 0;
    await resumed.fit(batches(2), { epochs: 2, callbacks: [mlflow({ uri })] });
    expect(got[0]).toMatchObject({ path: "runs/update", body: { run_id: "r", status: "RUNNING" } });
    expect(got.some(({ path }) => path === "runs/create")).toBe(false);
    expect(got.flatMap(({ body }) => (body["metrics"] ?? []) as Metrics)[0]?.step).toBe(3);
  });

  it.each<[() => unknown, string]>([
    [() => mlflow(), "mlflow: uri must be given, or the variable MLFLOW_TRACKING_URI set"],
    [() => mlflow({ uri: "databricks" }), "mlflow: uri must be the http or https address of a server"],
    [() => mlflow({ uri: "http://u:p@host" }), "without a password"],
    [
      () => mlflow({ uri: "http://h", params: { a: {} as never } }),
      "params must be an object of at most 100",
    ],
    [() => mlflow({ trackingUri: "http://h" } as never), "it is called uri"],
  ])("refuses options: %#", (make, message) => {
    expect(make).toThrow(message);
  });
});
