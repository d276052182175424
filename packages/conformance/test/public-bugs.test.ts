// docs/public-bugs.md: its cases are in the suite and are named by a wrong backend; its tests are where it says.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { suiteCases } from "../src/index.js";
import { inSuite } from "../src/suite/chosen-cases.js";
import { trainingCases } from "../src/training/cases/training-cases.js";

const page = fileURLToPath(new URL("../../../docs/public-bugs.md", import.meta.url));
const rows = readFileSync(page, "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ["))
  .map((line) => line.split(" | ") as [report: string, wrong: string, right: string, shown: string]);

const ids = new Set([...suiteCases, ...inSuite(trainingCases)].map(({ id }) => id));

const faults = (
  await Promise.all(
    readdirSync(new URL("wrong-backends/", import.meta.url))
      .flatMap((file) => /^(.*-faults)\.ts$/.exec(file)?.[1] ?? [])
      .map((file) => import(`./wrong-backends/${file}.ts`) as Promise<Record<string, unknown>>),
  )
).flatMap((module) => Object.values(module).filter(Array.isArray).flat()) as {
  readonly named?: readonly string[];
}[];
const named = new Set(faults.flatMap(({ named: cases = [] }) => cases));

it("lists each report once, and at least 42", () => {
  expect(rows.length).toBeGreaterThanOrEqual(42);
  expect(new Set(rows.map(([report]) => report)).size).toBe(rows.length);
});

it.each(rows)("%s", (report, _wrong, _right, shown) => {
  const cases = [...shown.matchAll(/`([^`]+)`/g)].map(([, id = ""]) => id);
  for (const id of cases) {
    expect(ids).toContain(id);
    expect(named).toContain(id);
  }
  const tests = [...shown.matchAll(/\[[^\]]+\]\(([^)]+)\)(?:: "([^"]+)")?/g)];
  expect(cases.length + tests.length).toBeGreaterThan(0);
  const [, name = ""] = /^\| \[([^\]]+)\]/.exec(report) ?? [];
  for (const [, file = "", title = name] of tests) {
    const path = join(dirname(page), file);
    expect(existsSync(path), path).toBe(true);
    expect(readFileSync(path, "utf8")).toContain(title);
  }
});
