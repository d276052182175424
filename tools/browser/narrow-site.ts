/** Finds parts of a built site that do not read well: tables on a phone, long pages on a wide screen. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { openBrowser } from "./open-browser.js";

/** Width in pixels of a phone's screen; `WIDE` is the width of a computer's screen. */
const WIDTH = 390;
const WIDE = 1280;
const SMALLEST_TEXT = 12;
const HIGHEST_PAGE = 12_000;
/** Pages with fewer characters than this are never too high. */
const LONG_TEXT = 90_000;
/** The guide may be higher, because it is read from top to bottom. */
const MAY_BE_HIGHER = "docs/guide.html";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
};

interface Reading {
  readonly pages: number;
  readonly tables: number;
  /** One sentence for each table or page that does not read well. */
  readonly problems: readonly string[];
}

/**
 * Opens each page with a table at the width of a phone, and the longest pages at the width of a wide screen.
 * @param folder the built site
 * @param isPage whether to look at the tables of a file
 */
export async function readNarrow(folder: string, isPage: (file: string) => boolean): Promise<Reading> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".html"));
  const texts = new Map(files.map((file) => [file, readFileSync(join(folder, file), "utf8")]));
  const pages = files.filter((file) => isPage(file) && texts.get(file)?.includes("<table"));
  const longest = files.filter(
    (file) => file !== MAY_BE_HIGHER && (texts.get(file)?.length ?? 0) > LONG_TEXT,
  );
  const server = serve(folder);
  const opened = await openBrowser();
  const problems: string[] = [];
  let tables = 0;
  try {
    const page = await opened.browser.newPage({ viewport: { width: WIDTH, height: 844 } });
    page.setDefaultTimeout(0);
    for (const file of pages) {
      await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/${file}`);
      const found = await page.evaluate(inspectTables, SMALLEST_TEXT);
      tables += found.tables;
      problems.push(...found.problems.map((problem) => `${file} at ${WIDTH} pixels: ${problem}`));
    }
    await page.setViewportSize({ width: WIDE, height: 844 });
    for (const file of longest) {
      await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/${file}`);
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      if (height > HIGHEST_PAGE)
        problems.push(`${file} is ${height} pixels high at ${WIDE}, at most ${HIGHEST_PAGE}: divide it`);
    }
  } finally {
    await opened.close();
    server.close();
  }
  return { pages: pages.length, tables, problems };
}

function serve(folder: string): Server {
  return createServer(({ url = "/" }, response) => {
    const file = join(folder, decodeURIComponent(new URL(url, "http://site").pathname));
    const type = TYPES[extname(file)];
    if (type === undefined || !existsSync(file)) return response.writeHead(404).end();
    return response.writeHead(200, { "content-type": type }).end(readFileSync(file));
  }).listen(0);
}

/** Runs in the page, so it must not use anything of this module. */
function inspectTables(smallestText: number): {
  readonly tables: number;
  readonly problems: readonly string[];
} {
  const tables = [...document.querySelectorAll<HTMLTableElement>(".vp-doc table")];
  const overflow = document.documentElement.scrollWidth - window.innerWidth;
  const findBrokenWords = (table: Element): readonly string[] => {
    const words: string[] = [];
    const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      // Code may be longer than a line.
      if (text.parentElement?.closest("code") !== null) continue;
      for (const { 0: word, index } of (text.textContent ?? "").matchAll(/[\p{L}\p{N}]+/gu)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) words.push(word);
      }
    }
    return words;
  };
  const pageProblems = (table: HTMLTableElement, at: number): readonly string[] => {
    const cells = [...table.querySelectorAll("td")].filter((cell) => cell.getClientRects().length > 0);
    const hidden = table.scrollWidth - table.clientWidth;
    const small = cells.filter((cell) => Number.parseFloat(getComputedStyle(cell).fontSize) < smallestText);
    const heads = [...table.querySelectorAll("th")].map(({ textContent }) => textContent?.trim() ?? "");
    const nameless = cells.filter((cell) => {
      const { content } = getComputedStyle(cell, "::before");
      return cell.cellIndex > 0 && heads[cell.cellIndex] !== "" && (content === "none" || content === "");
    });
    return [
      ...(hidden > 0 ? [`${hidden} pixels of table ${at + 1} are out of sight`] : []),
      ...(small.length > 0 ? [`text of table ${at + 1} is below ${smallestText} pixels`] : []),
      ...(nameless.length > 0
        ? [`${nameless.length} cells of table ${at + 1} do not name their column`]
        : []),
      ...findBrokenWords(table).map((word) => `table ${at + 1} breaks the word "${word}"`),
    ];
  };
  return {
    tables: tables.length,
    problems: [
      ...(overflow > 0 ? [`the page is ${overflow} pixels too wide`] : []),
      ...tables.flatMap(pageProblems),
    ],
  };
}
