/**
 * Checks that every stage of an operator has one file per operator family, named after the family. A reader then finds
 * what an operator does in a stage by the name of its family.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const FAMILIES_FILE = "packages/graph/src/graph/families.ts";
/** Files by stage, with `*` for the family; and the families that have no file in that stage. */
const STAGES = /** @type {Readonly<Record<string, readonly string[]>>} */ ({
  "packages/graph/src/trace/ops/*.ts": [],
  "packages/graph/src/graph/infer/*.ts": [],
  "packages/graph/src/gradient/rules/*.ts": [],
  "packages/graph/src/reference/kernels/*.ts": [],
  "packages/onnx/src/read/*.ts": [],
  // Families that are written with their own name and attributes are rows of lowerings.ts.
  "packages/onnx/src/write/*.ts": ["binary", "matrix", "attention", "normalization", "loss"],
  "packages/onnx-lowering/src/lowerings/*.ts": [
    ...["attention", "normalization", "batch-normalization", "loop"],
    ...["binary", "reduce", "indexing", "source"],
  ],
  "packages/backend-tfjs/src/lowerings/*.ts": ["attention", "indexing"],
  "packages/backend-xla/src/lowerings/*.ts": [],
  "packages/conformance/src/samples/*-table.ts": [],
});

/**
 * @param {string} root
 * @param {readonly string[]} files all files of the repository
 * @returns {readonly string[]}
 */
export function stageProblems(root, files) {
  const table = readFileSync(join(root, FAMILIES_FILE), "utf8");
  const families = [...table.matchAll(/^ {2}"?([a-z-]+)"?: \[/gm)].map((match) => match[1] ?? "");
  return Object.entries(STAGES).flatMap(([pattern, without]) =>
    families
      .filter((family) => !without.includes(family))
      .map((family) => pattern.replace("*", family))
      .filter((file) => !files.includes(file))
      .map((file) => `${file} is missing: every family of ${FAMILIES_FILE} has a file in each stage`),
  );
}
