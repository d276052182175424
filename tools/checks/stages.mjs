/**
 * Every stage that an operator passes through has one file per family of operators, named after the family: what an
 * operator does in a stage is found by its family's name.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const FAMILIES_FILE = "packages/graph/src/graph/families.ts";

/**
 * @typedef {object} Stage
 * @property {string} folder
 * @property {string} [suffix] what follows the family in a file's name
 * @property {readonly string[]} [without] families of which the stage has nothing to say
 */

/** @type {readonly Stage[]} */
const STAGES = [
  { folder: "packages/graph/src/trace/ops" },
  { folder: "packages/graph/src/graph/infer" },
  { folder: "packages/graph/src/gradient/rules" },
  { folder: "packages/graph/src/reference/kernels" },
  { folder: "packages/onnx/src/read" },
  // Families that are written with their own name and attributes are rows of lowerings.ts.
  {
    folder: "packages/onnx/src/write",
    without: ["attention", "binary", "loss", "matrix", "normalization"],
  },
  {
    folder: "packages/onnx-lowering/src/lowerings",
    without: [
      "attention",
      "normalization",
      "batch-normalization",
      "loop",
      "binary",
      "reduce",
      "indexing",
      "source",
    ],
  },
  { folder: "packages/backend-tfjs/src/lowerings", without: ["attention", "indexing"] },
  { folder: "packages/conformance/src/samples", suffix: "-table" },
];

/**
 * @param {string} root
 * @param {readonly string[]} files all files of the repository
 * @returns {readonly string[]}
 */
export function stageProblems(root, files) {
  const table = readFileSync(join(root, FAMILIES_FILE), "utf8");
  const families = [...table.matchAll(/^ {2}"?([a-z-]+)"?: \[/gm)].map((match) => match[1] ?? "");
  return STAGES.flatMap(({ folder, suffix = "", without = [] }) =>
    families
      .filter((family) => !without.includes(family))
      .map((family) => `${folder}/${family}${suffix}.ts`)
      .filter((file) => !files.includes(file))
      .map((file) => `${file} is missing: every family of ${FAMILIES_FILE} has a file in each stage`),
  );
}
