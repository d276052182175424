/** A hub of our own: the routes that a download asks for, and ways to answer badly. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const COMMIT = "0123456789abcdef0123456789abcdef01234567";

export interface Served {
  readonly bytes: Buffer;
  /** Stored as a large file, whose sum is SHA-256. */
  readonly isLarge?: boolean;
}

export interface Asked {
  readonly path: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
}

export interface HubServer {
  readonly endpoint: string;
  readonly asked: Asked[];
  /** Answers a request in another way and returns true, or returns false. */
  instead: (request: IncomingMessage, response: ServerResponse, path: string) => boolean;
  /** Changes an entry of the list of files. */
  listed: (entry: Record<string, unknown>) => Record<string, unknown>;
  commit: string;
  pageSize: number;
  close(): Promise<void>;
}

export const gitSum = (bytes: Buffer): string =>
  createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
export const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

export async function serveHub(
  repo: string,
  files: Readonly<Record<string, Served>>,
  port = 0,
): Promise<HubServer> {
  const server = createServer((request, response) => {
    const { pathname: path, search } = new URL(request.url ?? "/", "http://hub");
    const { range, authorization } = request.headers;
    hub.asked.push({ path, range, authorization });
    if (hub.instead(request, response, path)) return;
    const type = repo.startsWith("datasets/") ? repo : `models/${repo}`;
    if (path.startsWith(`/api/${type}/revision/`))
      return json(response, { _id: "1", id: repo, sha: hub.commit });
    if (path === `/api/${type}/tree/${COMMIT}`) {
      const from = Number(new URLSearchParams(search).get("from") ?? 0);
      const all = entries();
      const next = from + hub.pageSize;
      const address = `${hub.endpoint}${path}?recursive=true&expand=false&from=${next}`;
      if (next < all.length) response.setHeader("link", `<${address}>; rel="next"`);
      return json(response, all.slice(from, next));
    }
    const resolve = `/${repo}/resolve/${COMMIT}/`;
    const file = path.startsWith(resolve) ? files[decodeURIComponent(path.slice(resolve.length))] : undefined;
    if (file !== undefined) return sendFile(file.bytes, range, response);
    response.writeHead(404, { "x-error-code": "RepoNotFound" }).end();
  });
  const entries = () =>
    [{ type: "directory", path: "a", oid: COMMIT, size: 0 }, ...Object.entries(files).map(entryOf)].map(
      (entry) => hub.listed(entry),
    );
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  const hub: HubServer = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    instead: () => false,
    listed: (entry) => entry,
    commit: COMMIT,
    pageSize: 1000,
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
  return hub;
}

function entryOf([path, { bytes, isLarge }]: [string, Served]): Record<string, unknown> {
  const size = bytes.length;
  if (isLarge !== true) return { type: "file", path, oid: gitSum(bytes), size };
  return {
    ...{ type: "file", path, oid: gitSum(Buffer.from("pointer")), size },
    lfs: { oid: sha256(bytes), size, pointerSize: 134 },
  };
}

export function sendFile(bytes: Buffer, range: string | undefined, response: ServerResponse): void {
  const [, start] = /^bytes=(\d+)-$/.exec(range ?? "") ?? [];
  if (start === undefined) {
    response.writeHead(200, { "content-length": bytes.length }).end(bytes);
    return;
  }
  const rest = bytes.subarray(Number(start));
  response
    .writeHead(206, {
      "content-length": rest.length,
      "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}`,
    })
    .end(rest);
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}
