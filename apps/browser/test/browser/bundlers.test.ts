/** The page of docs/bundlers.md: its files, as a reader copies them, served and built by Vite, in a headless browser. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openBrowser } from "@mp/test-browser";
import { afterAll, beforeAll, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
/** Below the app, so that its packages are found from there. */
const folder = fileURLToPath(new URL("../../.results/bundlers", import.meta.url));
/** A block of a file: its name is in the line that opens the block. */
const FILE = /^```\w+ (\S+\.\w+)\n(.*?)^```$/gms;
/** Messages that are not complaints: of Chromium without a GPU, and of a precision that the engine lacks. */
const IS_NEWS = /^WebGPU is experimental on this platform|^No available adapters|^\[mp\] mixed\(\)/;

const run = promisify(execFile);
const servers: ChildProcess[] = [];

beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  // Vitest's own Vite.
  const vitest = dirname(fileURLToPath(import.meta.resolve("vitest/package.json")));
  symlinkSync(realpathSync(join(vitest, "../vite")), join(folder, "node_modules/vite"), "junction");
  const page = readFileSync(join(root, "docs/bundlers.md"), "utf8");
  for (const [, name = "", text = ""] of page.matchAll(FILE)) writeFileSync(join(folder, name), text);
  await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc")], { cwd: folder });
});

afterAll(() => {
  for (const server of servers) server.kill();
});

const vite = (...args: readonly string[]): readonly string[] => ["node_modules/vite/bin/vite.js", ...args];

/** Starts a server of Vite on a free port. */
async function serve(...command: readonly string[]): Promise<string> {
  const server = spawn(process.execPath, vite(...command, "--port", "0"), { cwd: folder });
  servers.push(server);
  const exited = once(server, "exit").then(() => Promise.reject(new Error(`vite ${command} ended`)));
  return Promise.race([
    exited,
    new Promise<string>((found) => {
      let said = "";
      server.stdout.on("data", (chunk) => {
        said += chunk;
        const [url] = /http:\/\/localhost:\d+\//.exec(said) ?? [];
        if (url !== undefined) found(url);
      });
    }),
  ]);
}

declare global {
  /** Every status that the page has shown. */
  var statuses: string[];
}

/**
 * Opens the page, trains, asks, and gives what it showed. The page itself takes notes and stops at the first step: a busy
 * machine may let it train to its end before this process looks.
 */
async function train(url: string, { webgpu, stops }: { readonly webgpu: boolean; readonly stops: boolean }) {
  const { browser, close } = await openBrowser({ webgpu });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(0);
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type()) && !IS_NEWS.test(message.text()))
        complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.addInitScript((isStopped) => {
      globalThis.statuses = [];
      new MutationObserver(() => {
        const text = document.querySelector("#status")?.textContent ?? "";
        globalThis.statuses.push(text);
        if (isStopped && text.startsWith("Step")) document.querySelector<HTMLElement>("#stop")?.click();
      }).observe(document, { childList: true, subtree: true });
    }, stops);
    await page.goto(url);
    const ended = page.locator("#status", { hasText: /^Ended/ });
    await ended.waitFor();
    const step = (await page.evaluate(() => globalThis.statuses)).find((text) => text.startsWith("Step"));
    await page.click("form button");
    const answer = page.locator("#answer", { hasText: /sign/ });
    await answer.waitFor();
    return { step, ended: await ended.textContent(), answer: await answer.textContent(), complaints };
  } finally {
    await close();
  }
}

it("trains on the processor where there is no WebGPU, as Vite serves it for development", async () => {
  const shown = await train(await serve(), { webgpu: false, stops: false });
  expect(shown).toMatchObject({ ended: "Ended: steps", complaints: [] });
  expect(shown.step).toMatch(/ on .*reference: loss \d/);
  expect(Number(shown.answer?.split(": ")[1])).toBeLessThan(0.2);
});

it("trains on the GPU, stops and answers, as Vite builds it", async () => {
  await run(process.execPath, vite("build"), { cwd: folder });
  const shown = await train(await serve("preview"), { webgpu: true, stops: true });
  expect(shown).toMatchObject({ ended: "Ended: aborted", complaints: [] });
  expect(shown.step).toMatch(/ on onnxruntime-web: loss \d/);
});
