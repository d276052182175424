import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as ops from "../../entries/ops.js";

const folder = new URL(".", import.meta.url);
const readme = readFileSync(new URL("../../../../core/README.md", folder), "utf8");
const table = readme.slice(readme.indexOf("### Operators"));
const files = readdirSync(folder).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));

it("has every operator that core exports in the README's table", async () => {
  const modules = await Promise.all(files.map((file) => import(new URL(file, folder).href)));
  const operators = modules
    .flatMap((module: object) => Object.entries(module))
    .filter(([name, value]) => typeof value === "function" && Object.hasOwn(ops, name))
    .map(([name]) => name);
  expect(operators).toContain("conv");
  expect(operators.filter((name) => !table.includes(`\`${name}\``))).toEqual([]);
});
