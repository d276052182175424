// The README's programs, run unchanged on a backend with a few operators.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { allCases } from "../src/suite/all-cases.js";
import { runConformance } from "../src/suite/run-conformance.js";
import { trainingCases } from "../src/training/cases/training-cases.js";
import { myBackend } from "./my-backend.js";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const programs = [...readme.matchAll(/^```ts(?: check)?\n(.*?)^```$/gms)].map(([, program]) => program ?? "");

/** Writes a program to a folder from which its imports resolve to this checkout. */
function placed(name: string, program: string): string {
  const folder = new URL("../.results/", import.meta.url);
  mkdirSync(folder, { recursive: true });
  const file = new URL(`${name}.ts`, folder);
  const code = program
    .replace('"@mp/conformance/vitest"', '"../src/entries/vitest.js"')
    .replace('"@mp/conformance/training"', '"../src/entries/training.js"')
    .replace('"@mp/conformance"', '"../src/index.js"')
    .replace('"./my-backend.js"', '"../test/my-backend.js"');
  writeFileSync(file, code);
  return file.href;
}

const plain = programs.find((program) => program.includes("runConformance(")) ?? "";

describe("the README", () => {
  it("runs the suite against a backend of one's own", async () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
    await import(placed("readme-program", plain));
    expect(log).toHaveBeenCalledWith(expect.stringMatching(/^mine: \d{2,} passed, \d{4} refused, 0 failed$/));
  });

  it("names cases that there are", () => {
    const ids = new Set([...allCases, ...trainingCases].map(({ id }) => id));
    const named = [...readme.matchAll(/"([a-z-]+\/[A-Za-z0-9-]+\/[a-z0-9-]+)"/g)].map(([, id]) => id ?? "");
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((id) => !ids.has(id))).toEqual([]);
    const groups = [...readme.matchAll(/`([a-z-]+)`/g)].map(([, group]) => group ?? "");
    const missing = [...ids]
      .map((id) => id.slice(0, id.indexOf("/")))
      .filter((group) => !groups.includes(group));
    expect([...new Set(missing)]).toEqual([]);
  });
});

it("a small backend passes what it has and refuses the rest", async () => {
  const elementwise = allCases.filter(({ id }) => /^op\/(Add|Mul|Neg|Abs|Relu|Sub|Exp)-/.test(id));
  const { outcomes } = await runConformance({ factory: () => myBackend(), cases: elementwise });
  for (const { id, status } of outcomes) {
    const has = /^op\/(Add|Mul|Neg|Abs|Relu)-f32\/(values|shapes|broadcasting)$/.test(id);
    expect(status, id).toBe(has ? "passed" : "refused");
  }
});
