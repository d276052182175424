/** A page of the headless browser, with a program of `test/browser/page` in it and onnxruntime-web beside it. */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openBrowser } from "@mp/test-browser";
import { build } from "esbuild";
import type { Page } from "playwright-core";

export interface OpenPage {
  readonly page: Page;
  /** Errors and warnings of the page. */
  readonly complaints: readonly string[];
  readonly close: () => Promise<void>;
}

const WASM = "ort-wasm-simd-threaded.asyncify.wasm";

/** Chromium on Linux says so of its WebGPU. */
const IS_NEWS = /^WebGPU is experimental on this platform/;

/**
 * @param program a file of `page`, without its ending; it puts functions on `globalThis`
 * @param worker another, for a worker `worker.js` of the page
 */
export async function openPage(program: string, worker?: string): Promise<OpenPage> {
  const engine = dirname(fileURLToPath(import.meta.resolve("onnxruntime-web/webgpu")));
  const files: Readonly<Record<string, readonly [type: string, body: string | Uint8Array]>> = {
    "": ["text/html", `<!doctype html><title>test</title><script type="module" src="program.js"></script>`],
    "program.js": ["text/javascript", await bundled(program)],
    "worker.js": ["text/javascript", worker === undefined ? "" : await bundled(worker)],
    [WASM]: ["application/wasm", readFileSync(join(engine, WASM))],
  };
  const server = createServer((request, response) => {
    const [type, body] = files[basename(request.url ?? "")] ?? [];
    if (type === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": type }).end(body);
  });
  await new Promise<void>((done) => server.listen(0, "localhost", done));
  const { browser, close } = await openBrowser({ webgpu: true });
  const complaints: string[] = [];
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() !== "log" && !IS_NEWS.test(text)) complaints.push(text);
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
  return {
    page,
    complaints,
    close: async () => {
      await close();
      await closed(server);
    },
  };
}

async function bundled(program: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "page", `${program}.ts`)],
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2023",
    write: false,
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((done) => server.close(() => done()));
}
