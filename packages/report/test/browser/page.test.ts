import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type OpenBrowser, openBrowser } from "@mp/test-browser";
import { takeScreenshots } from "@mp/test-browser/screenshots";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { historyChart, precisionReportPage } from "../../src/index.js";
import { reportedRuns } from "../runs.js";
import { type Inspection, inspectPage } from "./inspect-page.js";

/** Screenshots for a person to look at; git ignores the folder. */
const screenshots = join(import.meta.dirname, "../../.results/screenshots");
const folder = mkdtempSync(join(tmpdir(), "mp-report-"));
let opened: OpenBrowser | undefined;
let page: Page;

beforeAll(async () => {
  mkdirSync(screenshots, { recursive: true });
  const runs = await reportedRuns();
  for (const [name, run] of Object.entries(runs))
    writeFileSync(join(folder, `${name}.html`), precisionReportPage(run));
  const both = {
    "a run": runs.trained.history,
    "<b>another</b> of a long name & many steps": runs.large.history,
  };
  const charts = (["loss", "scale", "gradients"] as const).map((figure) =>
    historyChart(figure, figure === "gradients" ? runs.trained.history : both, { width: 336 }),
  );
  for (const [index, svg] of charts.entries()) writeFileSync(join(folder, `${index}.svg`), svg);
  writeFileSync(
    join(folder, "charts.html"),
    `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">${charts.join("\n")}${charts.map((_, index) => `<img src="${index}.svg" alt="">`).join("\n")}`,
  );
  opened = await openBrowser();
  // All screenshots use one page: with a new page for each, Chromium sometimes fails to capture it.
  page = await opened.browser.newPage();
  page.setDefaultTimeout(0);
});

afterAll(async () => {
  await opened?.close();
  rmSync(folder, { recursive: true });
});

interface Look {
  readonly inspection: Inspection;
  readonly title: string;
  /** Requests and complaints of the page. */
  readonly requests: readonly string[];
  readonly complaints: readonly string[];
}

async function look(name: string, colorScheme: "light" | "dark", width: number): Promise<Look> {
  const [requests, complaints]: [string[], string[]] = [[], []];
  page.removeAllListeners();
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 900 });
  await page.goto(pathToFileURL(join(folder, `${name}.html`)).href);
  const title = await page.title();
  const inspection = await page.evaluate(inspectPage);
  await takeScreenshots(page, join(screenshots, `${name}-${colorScheme}-${width}`));
  return { inspection, title, requests, complaints };
}

const sights = (["light", "dark"] as const).flatMap((scheme) =>
  [390, 1280].map((width) => [scheme, width] as const),
);

describe.each([
  ["trained", 11],
  ["large", 10],
  ["empty", 8],
] as const)("the page of a run, %s", (name, plots) => {
  it.each(sights)("in %s at %i pixels draws every plot, with all text inside", async (scheme, width) => {
    const { inspection, requests, complaints } = await look(name, scheme, width);
    expect(inspection.plots).toHaveLength(plots);
    for (const plot of inspection.plots) {
      expect([plot.label, plot.problems]).toEqual([plot.label, []]);
      if (name !== "empty") expect([plot.label, plot.marks > 3]).toEqual([plot.label, true]);
    }
    expect(inspection.overflowX).toBeLessThanOrEqual(0);
    expect(inspection.smallestText).toBeGreaterThanOrEqual(11.99);
    expect(inspection.axesApart).toBeLessThan(0.5);
    expect(inspection.dtypes).toBeGreaterThan(3);
    expect(inspection.dtypesOutside).toBe(0);
    expect(requests).toEqual([pathToFileURL(join(folder, `${name}.html`)).href]);
    expect(complaints).toEqual([]);
  });
});

describe("the page in a browser", () => {
  it("takes names for text, whatever they hold", async () => {
    const { inspection, title } = await look("trained", "light", 1280);
    expect(title).toBe(`a run & <its> "name": precision report`);
    expect(inspection.scripts).toBe(0);
  });

  it("folds a long plan of casts on a phone, and shows it on a desk", async () => {
    expect((await look("long", "light", 390)).inspection.isFolded).toBe(true);
    expect((await look("long", "light", 1280)).inspection.isFolded).toBe(false);
  });
});

describe("charts in a page of the reader's own", () => {
  it.each(sights)("in %s at %i pixels are drawn whole, in a file too", async (scheme, width) => {
    const { inspection, complaints } = await look("charts", scheme, width);
    // Each chart contains a plot, so six are counted.
    expect(inspection.plots.map(({ problems }) => problems)).toEqual(Array.from({ length: 6 }, () => []));
    expect(inspection.plots.filter(({ marks }) => marks === 0)).toEqual([]);
    expect(inspection.overflowX).toBeLessThanOrEqual(0);
    expect(inspection.smallestText).toBeGreaterThanOrEqual(11.99);
    expect(complaints).toEqual([]);
    const seen = await page.evaluate(() => ({
      // 0 if the browser does not recognize the file as an image.
      widths: [...document.images].map(({ naturalWidth }) => naturalWidth),
      backgrounds: [...document.querySelectorAll(".mp-chart > rect:first-of-type")].map(
        (rect) => getComputedStyle(rect).fill,
      ),
    }));
    const background = scheme === "light" ? "rgb(255, 255, 255)" : "rgb(27, 31, 37)";
    expect(seen).toEqual({ widths: [336, 336, 336], backgrounds: [background, background, background] });
  });
});
