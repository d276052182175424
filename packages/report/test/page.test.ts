import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { precisionReportPage, type ReportedRun } from "../src/index.js";
import { noBrowser, type OpenBrowser, openBrowser } from "./browser.js";
import { type Inspection, inspectPage } from "./inspect-page.js";
import { emptyRun, largeRun, longRun, trainedRun } from "./runs.js";
import { takeScreenshots } from "./take-screenshots.js";

/** For who wants to look at them; git ignores the folder. */
const screenshots = join(import.meta.dirname, "../.results/screenshots");
const folder = mkdtempSync(join(tmpdir(), "mp-report-"));
const pages: Record<string, string> = {};
let opened: OpenBrowser | undefined;
let page: Page;
let run: ReportedRun;

beforeAll(async () => {
  run = await trainedRun();
  const runs: Readonly<Record<string, ReportedRun>> = {
    trained: run,
    large: largeRun(run),
    empty: emptyRun(run),
    long: longRun(run),
  };
  mkdirSync(screenshots, { recursive: true });
  for (const [name, reported] of Object.entries(runs)) {
    pages[name] = precisionReportPage(reported);
    writeFileSync(join(folder, `${name}.html`), pages[name]);
  }
  if (noBrowser !== undefined) return;
  opened = await openBrowser();
  // One page for all: with a new one for each look, this Chromium now and then has nothing to capture.
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
  /** What the page asked for, and what it complained of. */
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

describe.skipIf(noBrowser !== undefined).each([
  ["trained", 10],
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

describe.skipIf(noBrowser !== undefined)("the page in a browser", () => {
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

describe("the page", () => {
  it("begins with what the run came to, its date and its size", () => {
    const [head = ""] = (pages["trained"] ?? "").split("</header>");
    const facts = [...head.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, name, value]) => [
      name,
      value,
    ]);
    expect(facts[0]).toEqual(["accuracy", "0.75"]);
    expect(Object.fromEntries(facts)).toMatchObject({
      "trained parameters": "1,664",
      steps: "24",
      seed: "1",
      "date (UTC)": "2026-01-02 03:04",
    });
  });

  it("cuts a bar of zeros that is too high, and says so", () => {
    const zeros = run.report.groups.map((group) => ({
      ...group,
      histogram: { ...group.histogram, zeros: 100_000 },
    }));
    const cut = precisionReportPage({ ...run, report: { ...run.report, groups: zeros } });
    expect(cut).toMatch(/The bar of zeros is cut: 9\d\.\d\u00a0% of the values are zero\./);
    expect(cut.split('aria-label="link"').length).toBeGreaterThan(3);
    const none = run.report.groups.map((group) => ({
      ...group,
      histogram: { ...group.histogram, zeros: 0 },
    }));
    const whole = precisionReportPage({ ...run, report: { ...run.report, groups: none } });
    expect(whole).not.toContain("The bar of zeros is cut");
  });

  it("is small, whole, and forbids itself to load anything", () => {
    for (const [name, text] of Object.entries(pages)) {
      expect([name, text.length < 1_000_000]).toEqual([name, true]);
      expect(text).not.toMatch(/https?:\/\/(?!www\.w3\.org\/)/);
      expect(text).toContain("default-src &#39;none&#39;");
    }
  });

  it("tells of each skipped step what its replay found", () => {
    const skips = run.skips.filter(({ overflow }) => overflow !== undefined);
    expect(skips.length).toBeGreaterThan(0);
    for (const { overflow } of skips) expect(pages["trained"]).toContain(`<b>${overflow?.cause}</b>`);
    const [first] = skips;
    const [, rows = ""] = (pages["trained"] ?? "").split('aria-label="Skipped steps"');
    expect(rows.split("</table>")[0]).toContain(`>${first?.overflow?.op}</td>`);
    expect(pages["trained"]).toContain(`<span>step ${first?.step}</span>`);
    expect(pages["empty"]).toContain("No step was skipped");
  });

  it("gives the recommended scale, and the shares at each in a table", () => {
    const { recommendedScale } = run.report.gradients;
    expect(pages["trained"]).toContain(`(${recommendedScale.toLocaleString("en")})`);
    const rows = (pages["trained"] ?? "").split('aria-label="Shares by scale"')[1]?.split("</table>")[0];
    expect(rows?.match(/<tr>/g)).toHaveLength(26);
  });
});
