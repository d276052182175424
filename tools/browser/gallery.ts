/** Makes the pictures of docs/gallery.md: runs the command below each picture and takes a screenshot of the result. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { openBrowser } from "./open-browser.js";

/** Matches a picture of the page: the figure's title, its file, and the app and flags of the command below it. */
const PICTURE = /!\[([^\]:]+)[^\]]*\]\((\S+\.png)\)[^!]*?npm run app -- (\S+)(.*)/g;
/** Size of a phone in pixels. A report's text at this size is readable in a picture as wide as a card. */
const PHONE = { width: 390, height: 844 };
/** Sheets of pictures are 512 pixels wide, so that their pixels stay sharp at that width and at half of it. */
const STYLE = `body { margin: 0 } figure { margin: 0; width: 512px; max-height: 256px; overflow: hidden }
  figure:has(pre) { width: 400px; max-height: none } img { width: 256px; vertical-align: top } img:only-child { width: 512px }
  pre { margin: 0; padding: 14px; background: #fff; color: #1c2127; font: 12px/1.5 monospace; white-space: pre-wrap }`;
/** Lines of progress and warnings. */
const IS_NEWS = /^\[mp\]|: step \d+\/|: written$/;

/**
 * @param root of the repository, with every app built
 * @param names of apps; all apps if empty
 */
export async function makeGallery(root: string, names: readonly string[]): Promise<void> {
  const text = readFileSync(join(root, "docs", "gallery.md"), "utf8");
  const { browser, close } = await openBrowser();
  const page = await browser.newPage({ viewport: PHONE, colorScheme: "light" });
  page.setDefaultTimeout(0);
  try {
    for (const [, title = "", file = "", app = "", flags = ""] of text.matchAll(PICTURE)) {
      if (names.length > 0 && !names.includes(app)) continue;
      const path = join(root, "docs", file);
      const args = [join(root, "apps", app, "dist", "main.js"), ...flags.split(" ").filter(Boolean)];
      await (args.includes("--serve")
        ? shootServed(page, args, path)
        : shootRun(page, args, { title, path }));
      console.log(`docs/${file}: npm run app -- ${app}${flags}`);
    }
  } finally {
    await close();
  }
}

async function shootServed(page: Page, args: readonly string[], path: string): Promise<void> {
  const server = spawn(process.execPath, [...args, "--port", "0"]);
  const [line] = await once(server.stdout, "data");
  await page.setViewportSize({ ...PHONE, width: 700 });
  await page.goto(String(line).split(" ")[0] ?? "");
  // The networks read the drawing again every 25 steps.
  await page.waitForFunction(() => Number(document.querySelectorAll("#facts td")[3]?.textContent) > 80);
  await page.locator(".drawing").screenshot({ path });
  server.kill();
}

async function shootRun(
  page: Page,
  args: readonly string[],
  { title, path }: { readonly title: string; readonly path: string },
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "mp-gallery-"));
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`${args.join(" ")}: ended with ${status}\n${stdout}`);
  const made = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  const [report] = made.filter((file) => file.endsWith(".html"));
  const images = made
    .filter((file) => file.endsWith(".png"))
    .slice(0, 2)
    .map((file) => `<img src="data:image/png;base64,${readFileSync(join(folder, file), "base64")}">`);
  await page.setViewportSize(PHONE);
  if (report !== undefined) await page.goto(pathToFileURL(join(folder, report)).href);
  else {
    const lines = stdout.split("\n").filter((line) => line !== "" && !IS_NEWS.test(line));
    const text = `<pre>${lines.join("\n").replaceAll("<", "&lt;")}</pre>`;
    await page.setContent(`<style>${STYLE}</style><figure>${images.join("") || text}</figure>`);
  }
  const figures = page.locator("figure").filter({ has: page.locator(`h3:text-is("${title}")`) });
  await (report === undefined ? page.locator("figure") : figures).screenshot({ path });
  rmSync(folder, { recursive: true });
}
