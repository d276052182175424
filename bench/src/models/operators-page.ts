// docs/onnx-operators.md, which the command writes as a whole.
import { markdownTable } from "../markdown-table.js";
import type { NodeTest, Outcome } from "./node-test.js";

type Tested = readonly (readonly [NodeTest, Outcome])[];

const share = (part: number, whole: number): string =>
  `${part} of ${whole}${whole === 0 ? "" : ` (${((100 * part) / whole).toFixed(1)} %)`}`;

/** Formats the fraction of tests with each of the four results, one line each. */
export function shares(tested: Tested): readonly string[] {
  const count = (result: Outcome["result"]): string =>
    share(tested.filter(([, each]) => each.result === result).length, tested.length);
  return (["passed", "refused", "wrong", "raw error"] as const).map(
    (result) => `${result}: ${count(result)}`,
  );
}

const list = (tested: Tested): string =>
  shares(tested)
    .map((each) => `- ${each}`)
    .join("\n");

/** Removes from a message the parts that only apply to its test: node names, opset and input numbers. */
const shortReason = (message: string): string =>
  message
    .replace(/^onnx: /, "")
    .replace(/ \((makes|node) "[^"]*"\)/, "")
    .replace(/^\w+ of opset \d+:? /, "")
    .replace(/"(?:in|out)\/\d+" /, "")
    .replaceAll("|", "\\|");

/** Renders the page; `read` are the operators with a reader, `operators` all of ONNX's with their newest version. */
export function operatorsPage(
  read: readonly string[],
  operators: Readonly<Record<string, number>>,
  tested: Tested,
  version: string,
  readAs: Readonly<Record<string, string>>,
): string {
  const counted = tested.filter(([{ kind }]) => kind === "");
  const rows = Object.keys(operators)
    .sort()
    .map((op) => {
      const own = tested.filter(([{ ops, name }]) => ops.includes(op) && !name.includes("_expanded"));
      const passed = own.filter(([, { result }]) => result === "passed").length;
      const reasons = new Set(
        own.flatMap(([, outcome]) => (outcome.result === "refused" ? [shortReason(outcome.reason)] : [])),
      );
      const shown = [...reasons].slice(0, 3).join("; ") + (reasons.size > 3 ? "; …" : "");
      const isRead = read.includes(op);
      const why = isRead ? shown : "";
      return [`\`${op}\``, isRead ? "yes" : "no", own.length === 0 ? "" : `${passed} of ${own.length}`, why];
    });
  const readCount = Object.keys(operators).filter((op) => read.includes(op)).length;
  return `# Operators that are read

Of ${Object.keys(operators).length} operators of ONNX ${version}, ${readCount} are read. The others, and the forms below, are refused by \`readGraph\` and \`fromOnnx\` with \`MP_UNSUPPORTED\`, which names operator, version and node.

These are the results of the ONNX project's own node tests, read by \`readGraph\` and evaluated by the reference backend. A test passes if all numbers agree within the test's own tolerance. Where terms cancel, the limit is half a unit in the last place of the largest number. Inputs that must be known when the graph is built, such as axes, are passed as initializers. Types that graphs do not have are read as other types, if the caller asks for it: \`readAs: ${JSON.stringify(readAs)}\`; expected results are converted in the same way. The first list counts the tests of float and integer operators: it leaves out strings, sequences, optionals, quantization, 8 bits and less, random numbers, training, other domains, and two tests of \`Resize\` that take size · scale for a length, where ONNX's text, ONNX Runtime and PyTorch take the whole number. The second list counts all tests. Those two and three expansions of \`Bernoulli\`, which draw other numbers than the tests expect, count as wrong there.

${list(counted)}

All tests:

${list(tested)}

${markdownTable(["operator", "read", "its tests that pass", "what is refused"], rows)}

Written by:

\`\`\`sh
python bench/peers/onnx_node_tests.py FOLDER
node bench/dist/node-tests.js FOLDER --write             # --backend ort, tfjs or openvino evaluates on that engine instead
\`\`\`
`;
}
