/** Tests the compiler's messages for programs with wrong types, which type tests cannot read. */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** Inside the package, so that imports are found. */
async function messages(program: string): Promise<string> {
  await mkdir(path("../../.results"), { recursive: true });
  const folder = await mkdtemp(join(path("../../.results"), "types-"));
  try {
    await writeFile(join(folder, "program.ts"), program);
    const compilerOptions = {
      strict: true,
      module: "nodenext",
      target: "es2023",
      noEmit: true,
      skipLibCheck: true,
    };
    await writeFile(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: ["program.ts"] }),
    );
    const tsc = path("../../../../node_modules/typescript/bin/tsc");
    return spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], { encoding: "utf8" }).stdout;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const program = (parameters: string): string => `
import { add, matMul, reduceMean } from "@mp/core/ops";
import { key, type Tensor, type Traced } from "@mp/core";
import { dense, relu, sequential, softmaxCrossEntropy } from "../../src/index.js";
const model = sequential(dense(2, 8), relu, dense(8, 2));
const params = { body: model.init(key(1)), head: dense(8, 2).init(key(2)) };
type Batch = { x: Tensor; y: Tensor };
export const byLayer = (weights: ${parameters}, { x, y }: Batch) =>
  softmaxCrossEntropy(model.apply(weights.body, x), y);
export const byOperator = (weights: ${parameters}, { x }: Batch) =>
  reduceMean(add(matMul(x, weights.head.kernel), weights.head.bias));
`;

it("parameters annotated with the type of the host data: every message names Traced", async () => {
  expect(await messages(program("Traced<typeof params>"))).toBe("");
  const errors = (await messages(program("typeof params"))).split(/^(?=\S)/m);
  expect(errors).toHaveLength(3);
  for (const error of errors) expect(error).toContain("Traced<typeof params>");
});
