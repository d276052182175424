import { allCases } from "@mp/conformance";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { knownFailures } from "../../src/known-failures.js";
import { groups } from "../groups.js";
import { type OpenPage, openPage } from "./open-page.js";

let opened: OpenPage;

beforeAll(async () => {
  opened = await openPage("conformance");
});

afterAll(() => opened?.close());

describe("the suite in a page", () => {
  it.each(groups)("%s", { timeout: 1_200_000 }, async (group) => {
    const { counts, failures } = await opened.page.evaluate((asked) => globalThis.runGroup(asked), group);
    expect(failures).toEqual([]);
    expect(counts.passed + counts.refused).toBeGreaterThan(0);
  });

  it("known failures name cases", () => {
    const ids = new Set(allCases.map(({ id }) => id));
    expect(Object.keys(knownFailures).filter((id) => !ids.has(id))).toEqual([]);
  });
});
