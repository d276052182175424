/**
 * Every stage that an operator passes through has one file per family of operators, named after the family, and beside
 * these only the helpers listed here: what an operator does in a stage is found by its family's name.
 */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const FAMILIES_FILE = "packages/core/src/graph/families.ts";

/**
 * @typedef {object} Stage
 * @property {string} folder
 * @property {string} [suffix] what follows the family in a file's name
 * @property {readonly string[]} helpers files that are not of one family, or that one family's file is made of
 * @property {readonly string[]} [without] families of which the stage has nothing to say
 */

/** @type {readonly Stage[]} */
const STAGES = [
  {
    folder: "packages/core/src/trace/ops",
    // Compositions of operators, and options.
    helpers: ["axis", "finite", "group-normalization", "image", "resize", "window-options"],
  },
  { folder: "packages/core/src/graph/infer", helpers: ["infer", "rule"] },
  {
    folder: "packages/core/src/gradient/rules",
    helpers: ["backward-body", "gradient-request", "gradient-rules", "rule", "step-terms"],
  },
  {
    folder: "packages/core/src/reference/kernels",
    helpers: [
      ...[
        "arg",
        "arithmetic-loops",
        "cast",
        "cum-sum",
        "einsum",
        "fold",
        "gather",
        "index-range",
        "multiply",
      ],
      ...["scatter", "softmax", "where"],
    ],
  },
  {
    folder: "packages/onnx/src/read",
    helpers: [
      ...[
        "constant-nodes",
        "dropout",
        "random",
        "fold",
        "fold-decisions",
        "foreign",
        "foreign-activations",
        "foreign-images",
      ],
      ...["foreign-reductions", "formulas", "graph-reader", "initializer-roles", "node-reader"],
      ...["branch", "unchanged-since-table", "scope-of", "sequence", "table-limit", "triangle"],
      ...[
        "read-options",
        "readers",
        "reading",
        "same",
        "scalar-operand",
        "table-values",
        "traced",
        "value-table",
      ],
    ],
  },
  {
    folder: "packages/onnx/src/write",
    helpers: [
      ...[
        "graph-writer",
        "invariants",
        "lowering",
        "lowerings",
        "metadata-keys",
        "own-domain",
        "plain",
        "random-bits",
      ],
      "through-f16",
    ],
  },
  {
    folder: "packages/ort-lowering/src/lowerings",
    helpers: [
      ...[
        "blocked-layout",
        "division",
        "fixed-values",
        "in-f32",
        "integer-cast",
        "integers",
        "lower-node",
        "nan",
        "no-elements",
        "once-per-name",
      ],
      ...["own-lowering", "reduced-axes", "scatter-in-order", "transposed-products", "word-order"],
    ],
    without: ["attention", "normalization", "batch-normalization", "loop"],
  },
  {
    folder: "packages/backend-tfjs/src/lowerings",
    helpers: [
      ...["cast", "channels-last", "convolution-kernels", "dilated-kernels", "gather", "indices", "layout"],
      ...[
        "lowering",
        "lowerings",
        "plain",
        "pooling-by-slices",
        "random",
        "scatter",
        "search",
        "sum",
        "twins",
      ],
      "zeros",
    ],
  },
  {
    folder: "packages/conformance/src/samples",
    suffix: "-samples",
    helpers: [
      ...["generated-row", "gradient-sample", "host-data", "integers", "layouts", "op-sample", "op-samples"],
      ...["rounding", "scatter-samples"],
    ],
  },
  {
    folder: "packages/conformance/src/samples/sizes",
    suffix: "-sizes",
    helpers: ["size-row", "size-samples"],
  },
  {
    folder: "packages/conformance/src/samples/gradients",
    suffix: "-gradients",
    helpers: ["gradient-samples", "of-operands"],
  },
];

/**
 * @param {string} root
 * @param {readonly string[]} files all files of the repository
 * @returns {readonly string[]}
 */
export function stageProblems(root, files) {
  const table = readFileSync(join(root, FAMILIES_FILE), "utf8");
  const families = [...table.matchAll(/^ {2}"?([a-z-]+)"?: \[/gm)].map((match) => match[1] ?? "");
  return STAGES.flatMap(({ folder, suffix = "", helpers, without = [] }) => {
    const expected = families.filter((family) => !without.includes(family)).map((family) => family + suffix);
    const present = files
      .filter(
        (file) => dirname(file) === folder && file.endsWith(".ts") && !/\.(test|test-d)\.ts$/.test(file),
      )
      .map((file) => basename(file, ".ts"));
    return [
      ...present
        .filter((name) => !expected.includes(name) && !helpers.includes(name))
        .map(
          (name) =>
            `${folder}/${name}.ts: is no family of ${FAMILIES_FILE}; a helper is listed in tools/checks/stages.mjs`,
        ),
      ...[...expected, ...helpers]
        .filter((name) => !present.includes(name))
        .map((name) => `${folder}/${name}.ts is missing`),
    ];
  });
}
