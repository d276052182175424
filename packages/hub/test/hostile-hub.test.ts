// A hub that answers in every wrong way: each download ends soon, in little memory, with a code and what to do.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMMIT, gitSum } from "./hub-server.js";

const BYTES = Buffer.from("the bytes of a model, which is small");
const FILE = { type: "file", path: "model.bin", oid: gitSum(BYTES), size: BYTES.length };

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const send =
  (body: string | Buffer, headers: Record<string, string> = {}, status = 200): Answer =>
  (response) =>
    response.writeHead(status, headers).end(body);
const json = (value: unknown): Answer => send(JSON.stringify(value), { "content-type": "application/json" });

/** What an honest hub answers to each question. */
const QUESTIONS: Readonly<Record<string, Answer>> = {
  revision: json({ sha: COMMIT }),
  tree: json([FILE]),
  resolve: send(BYTES),
};

const write = (response: ServerResponse, chunk: Buffer): void => {
  while (!response.destroyed && response.write(chunk));
  response.once("drain", () => write(response, chunk));
};
const BOMB = gzipSync(Buffer.alloc(100_000_000, "[]"));
const PAGE = "<!DOCTYPE html><title>Sign in to the network</title>";

/** Wrong answers to any question. Those that a server may well give for a moment are asked for again. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  "an endless body": (response) => write(response.writeHead(200), Buffer.alloc(65_536, "[")),
  "a body that grows a thousandfold": send(BOMB, { "content-encoding": "gzip" }),
  "a damaged gzip": send(BOMB.subarray(100), { "content-encoding": "gzip" }),
  "a page to sign in": send(PAGE, { "content-type": "text/html" }),
  nothing: send(""),
  "half of it": (response) => {
    response.writeHead(200, { "content-length": "1000" }).write("[{", () => response.destroy());
  },
  "lists in lists": send(`${"[".repeat(500_000)}${"]".repeat(500_000)}`),
  silence: () => {},
  "silence after its headers": (response) => response.writeHead(200).flushHeaders(),
  "a byte now and then": (response) => {
    const timer = setInterval(() => response.write(" "), 10);
    response.writeHead(200).once("close", () => clearInterval(timer));
  },
  "a cut connection": (response) => response.destroy(),
  "no HTTP": (response) => response.socket?.end("SSH-2.0-OpenSSH_9.9\r\n"),
  "a status that none knows": send("", {}, 599),
  "a refusal": send("", {}, 403),
  "a refusal for a year": send("", { "retry-after": "31536000" }, 429),
  "a refusal for no number": send("", { "retry-after": "-1e999" }, 503),
  "a circle of addresses": (response, { url = "" }) => response.writeHead(302, { location: url }).end(),
  "an address that is none": send("", { location: "http://[" }, 302),
  "no content": send("", {}, 204),
};

const entries = (change: (at: number) => object, count = 1): Answer =>
  json(Array.from({ length: count }, (_, at) => ({ ...FILE, ...change(at) })));
const paged =
  (page: Answer, next: (host: string, url: string) => string): Answer =>
  (response, request) => {
    const { host = "" } = request.headers;
    response.setHeader("link", `<${next(host, request.url ?? "")}>; rel="next"`);
    page(response, request);
  };

/** Wrong lists, which only the question for them has. */
const LISTS: Readonly<Record<string, Answer>> = {
  "pages without end": paged(json([]), (host, url) => `http://${host}${url}`),
  "full pages without end": paged(
    entries((at) => ({ path: `some/longer/folder/file-${at}.bin` }), 1000),
    (host, url) => `http://${host}${url}`,
  ),
  "a next page that is no address": paged(json([]), () => "http://["),
  "a next page that is not there": paged(json([]), () => "http://127.0.0.1:1/"),
  "no entries": json([]),
  "entries that are null": json([null, null]),
  "an object": json({ error: "no" }),
  "a text": json("no"),
  "names of 300 bytes": entries(() => ({ path: "ä".repeat(150) })),
  "names of a million letters": entries(() => ({ path: "a".repeat(1e6) })),
  "half of a character": send(`[{"type":"file","path":"a\\ud800","oid":"${FILE.oid}","size":1}]`),
  "a name that leads outside": entries(() => ({ path: "../../outside" })),
  "a name that is a number": entries(() => ({ path: 7 })),
  "a file that is a folder, too": json([FILE, { ...FILE, path: `${FILE.path}/below` }]),
  "a size beyond every disk": entries(() => ({ size: 2 ** 52 })),
  "sizes that add up to that": entries(
    (at) => ({ path: `${at}`, size: 2 ** 50, oid: gitSum(Buffer.from(`${at}`)) }),
    8,
  ),
  "a size that is a text": entries(() => ({ size: "9" })),
  "a sum that is a path": entries(() => ({ oid: "../../x" })),
  "a large file without a sum": entries(() => ({ lfs: { size: 3 } })),
};

const CASES: readonly (readonly [name: string, question: string, answer: Answer])[] = [
  ...Object.keys(QUESTIONS).flatMap((question) =>
    Object.entries(ANSWERS).map(([name, answer]) => [`${name} to ${question}`, question, answer] as const),
  ),
  ...Object.entries(LISTS).map(([name, answer]) => [name, "tree", answer] as const),
];

interface Outcome {
  readonly code: string;
  readonly message: string;
  readonly ms: number;
  readonly rss: number;
}
let server: Server;
let endpoint = "";
const cache = mkdtempSync(join(tmpdir(), "mp-hostile-"));
beforeAll(async () => {
  server = createServer((request, response) => {
    const [, at = "", ...path] = (request.url ?? "").split("/");
    const asked = Object.keys(QUESTIONS).find((name) => path.includes(name)) ?? "";
    const [, question, answer] = CASES[Number(at)] ?? [];
    ((question === asked ? answer : QUESTIONS[asked]) ?? send("", {}, 404))(response, request);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
  rmSync(cache, { recursive: true });
});

it("answers in many ways", () => {
  expect(CASES.length).toBeGreaterThan(62);
});

const program = fileURLToPath(new URL("hostile-child.mjs", import.meta.url));
describe.each(Object.keys(QUESTIONS))("wrong answers to %s", (question) => {
  const own = [...CASES.entries()].filter(([, [, asked]]) => asked === question);
  let outcomes: readonly Outcome[] = [];
  beforeAll(async () => {
    const child = spawn(
      process.execPath,
      ["--expose-gc", program, cache, ...own.map(([at]) => `${endpoint}/${at}`)],
      { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, HF_HUB_DOWNLOAD_TIMEOUT: "0.05" } },
    );
    const lines = (await text(child.stdout)).trim().split("\n");
    outcomes = lines.map((line) => JSON.parse(line));
  });

  it.each(own.map(([, [name]], at) => [name, at] as const))("%s: ends soon, with a remedy", (_name, at) => {
    const { code, message, ms, rss } = outcomes[at] as Outcome;
    expect(code).toMatch(/^MP_(IO|PARSE|INVALID_ARGUMENT)$/);
    expect(message).toMatch(/; .*(check|try again|name the files|make room|moves? it|accept the conditions)/);
    expect(message.length).toBeLessThan(700);
    expect(ms).toBeLessThan(30_000);
    expect(rss).toBeLessThan(100e6);
  });
});
