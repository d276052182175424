/**
 * `node dist/node-tests.js FOLDER [--list passed|refused|wrong] [--op NAME]`: the ONNX project's own node tests, which
 * `peers/onnx_node_tests.py` wrote into that folder, by the reference. Prints the shares that pass, are refused with a
 * code, and are wrong; fails for a wrong number or an error without a code.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type NodeTest, type Outcome, runNodeTest } from "./models/node-test.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { list: { type: "string" }, op: { type: "string" } },
});
const [folder = ""] = positionals;
const { tests } = JSON.parse(await readFile(join(folder, "tests.json"), "utf8")) as { tests: NodeTest[] };
const outcomes: (readonly [NodeTest, Outcome])[] = [];
for (const test of tests) {
  if (values.op !== undefined && !test.ops.includes(values.op)) continue;
  outcomes.push([test, await runNodeTest(folder, test)]);
}

const share = (part: number, whole: number): string => `${part} of ${whole}, ${((100 * part) / whole).toFixed(1)} %`;
const counted = outcomes.filter(([{ kind }]) => kind === "");
for (const [what, chosen] of [["float and integer tests", counted], ["all tests", outcomes]] as const) {
  console.log(what);
  for (const result of ["passed", "refused", "wrong", "raw error"] as const)
    console.log(`  ${result}: ${share(chosen.filter(([, each]) => each.result === result).length, chosen.length)}`);
}
for (const [{ name, kind }, outcome] of outcomes) {
  const isBad = outcome.result === "wrong" || outcome.result === "raw error";
  if (isBad) process.exitCode = 1;
  if (isBad || outcome.result === values.list)
    console.log([outcome.result, kind, name, "reason" in outcome ? outcome.reason : ""].join("\t"));
}
