/**
 * `node dist/node-tests.js FOLDER [--list passed|refused|wrong] [--op NAME] [--backend ort|tfjs|openvino] [--write]`:
 * evaluates the ONNX project's node tests, which `peers/onnx_node_tests.py` wrote into that folder, on the reference or
 * the given engine. Prints the shares that pass, are refused with a code, and are wrong; fails for a wrong number or an
 * error without a code. `--write` puts the list of operators into docs/onnx-operators.md.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { READ_OPERATORS } from "@mp/onnx";
import { openEngine } from "./engine.js";
import { ENGINES } from "./job.js";
import { type NodeTest, type Outcome, READ_AS, type RunGraph, runNodeTest } from "./models/node-test.js";
import { operatorsPage, shares } from "./models/operators-page.js";

interface Listed {
  readonly onnx: string;
  readonly operators: Readonly<Record<string, number>>;
  readonly tests: readonly NodeTest[];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: "string" },
    op: { type: "string" },
    backend: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const engine = ENGINES.find((name) => name === values.backend);
const backend = engine && (await openEngine({ engine, threads: 1, device: "cpu" }));

const onEngine: RunGraph = async (graph, inputs) => {
  if (backend === undefined) throw new Error("internal: no engine");
  const executable = await backend.compile(graph);
  try {
    return await executable.run(inputs);
  } finally {
    await executable.dispose();
  }
};
const [folder = ""] = positionals;
const listed = JSON.parse(await readFile(join(folder, "tests.json"), "utf8")) as Listed;
const tested: (readonly [NodeTest, Outcome])[] = [];
for (const test of listed.tests) {
  if (values.op !== undefined && !test.ops.includes(values.op)) continue;
  tested.push([test, await runNodeTest(folder, test, backend && onEngine)]);
}

const counted = tested.filter(([{ kind }]) => kind === "");
console.log(["float and integer tests", ...shares(counted), "all tests", ...shares(tested)].join("\n"));
for (const [{ name, kind }, outcome] of tested) {
  const isBad = outcome.result === "wrong" || outcome.result === "raw error";
  if (isBad && kind === "") process.exitCode = 1;
  if (isBad || outcome.result === values.list)
    console.log([outcome.result, kind, name, "reason" in outcome ? outcome.reason : ""].join("\t"));
}
if (values.write) {
  const page = operatorsPage(READ_OPERATORS, listed.operators, tested, listed.onnx, READ_AS);
  await writeFile(new URL("../../docs/onnx-operators.md", import.meta.url), page);
}
await backend?.dispose();
