import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parts } from "../groups.js";
import { type OpenPage, openPage } from "./open-page.js";

let opened: OpenPage;

beforeAll(async () => {
  opened = await openPage("conformance");
});

afterAll(() => opened?.close());

/**
 * Groups of which a page shows that their first case works. Their others train for long, and `test/webgpu` has them all:
 * there the same engine computes in Node.
 */
const LONG = new Set(["finite-check", "run", "resume", "determinism", "leak"]);
const inPage = parts.map(([name, ids]) => [name, LONG.has(name) ? ids.slice(0, 1) : ids] as const);

describe("the suite in a page", () => {
  const total: Record<string, number> = {};

  it.each(inPage)("%s", { timeout: 1_200_000 }, async (_, ids) => {
    const { counts, failures } = await opened.page.evaluate((asked) => globalThis.runCases(asked), ids);
    for (const [answer, count] of Object.entries(counts)) total[answer] = (total[answer] ?? 0) + count;
    expect(failures).toEqual([]);
    expect(counts.passed + counts.refused).toBeGreaterThan(0);
  });

  afterAll(() => console.log("cases:", total));
});
