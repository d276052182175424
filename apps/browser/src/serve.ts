import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { UsageError } from "@mp/cli";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};

export interface ServedPage {
  readonly url: string;
  /** Serves until the signal, and then closes. */
  until(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface ServeOptions {
  /** Port; 0 for any free one. */
  readonly port: number;
  /** The folder that `build-page` wrote. */
  readonly folder: string;
}

/** Serves the page's folder on this machine alone. */
export async function servePage({ port, folder }: ServeOptions): Promise<ServedPage> {
  const server = createServer(async (request, response) => {
    // Accepts only names of files, since the folder has no subfolders.
    const name = /^\/([\w.-]*)(?:\?.*)?$/.exec(request.url ?? "")?.[1];
    const file = name === "" ? "index.html" : (name ?? "");
    try {
      const body = await readFile(join(folder, file));
      response
        .writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" })
        .end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  server.listen(port, "localhost");
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new UsageError(`--port ${port}: ${cause instanceof Error ? cause.message : cause}; give another`);
  }
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    until: async (signal) => {
      if (!signal.aborted) await once(signal, "abort");
      await close();
    },
    close,
  };
}
