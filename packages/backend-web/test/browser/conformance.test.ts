import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parts } from "../groups.js";
import { type OpenPage, openPage } from "./open-page.js";

let opened: OpenPage;

beforeAll(async () => {
  opened = await openPage("conformance");
});

afterAll(() => opened?.close());

describe("the suite in a page", () => {
  const total: Record<string, number> = {};

  it.each(parts)("%s", { timeout: 1_200_000 }, async (_, ids) => {
    const { counts, failures } = await opened.page.evaluate((asked) => globalThis.runCases(asked), ids);
    for (const [answer, count] of Object.entries(counts)) total[answer] = (total[answer] ?? 0) + count;
    expect(failures).toEqual([]);
    expect(counts.passed + counts.refused).toBeGreaterThan(0);
  });

  afterAll(() => console.log("cases:", total));
});
