import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { averaged, losses } from "../src/recipe.js";

const text = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
/** The output of recipe.py. */
const torch = JSON.parse(text("test/fixtures/curve.json")) as {
  readonly losses: readonly number[];
  readonly averaged: number;
};
const distance = (got: number | undefined, want: number): number => Math.abs((got ?? Number.NaN) / want - 1);

it("has PyTorch's losses within 1 % over 200 steps, and the average's", () => {
  expect(losses).toHaveLength(200);
  expect(torch.losses).toHaveLength(200);
  const worst = Math.max(...torch.losses.map((want, step) => distance(losses[step], want)));
  console.log(
    `largest distance: ${(100 * worst).toFixed(3)} %, of the average ${(100 * distance(averaged, torch.averaged)).toFixed(3)} %`,
  );
  expect(worst).toBeLessThan(0.01);
  expect(distance(averaged, torch.averaged)).toBeLessThan(0.01);
  // The loss falls; two constant curves would be equal too.
  expect(losses.at(-1)).toBeLessThan(0.5 * (losses[0] ?? 0));
});

it("is at most 60 lines, and the README shows both programs as they are", () => {
  const [program, python] = [text("src/recipe.ts"), text("recipe.py")];
  expect(program.trimEnd().split("\n").length).toBeLessThanOrEqual(60);
  const readme = text("README.md");
  expect(readme).toContain(`\`\`\`ts\n${program}\`\`\``);
  expect(readme).toContain(`\`\`\`python\n${python}\`\`\``);
});
