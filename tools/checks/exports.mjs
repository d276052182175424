/** Checks the tarball of every public package: what publint says of it, and whether every entry's types are found. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { packAll } from "../workspace/tarballs.mjs";

/** How programs that are not ES modules find types; these packages are ES modules alone. */
const NOT_MODULES = new Set(["node10", "node16-cjs"]);

/** @param {string} tarball @returns {Promise<readonly string[]>} */
async function problemsOf(tarball) {
  const data = new Uint8Array(readFileSync(tarball));
  const { messages, pkg } = await publint({ pack: { tarball: data.buffer }, strict: true });
  const analysis = await checkPackage(createPackageFromTarballData(data));
  if (!analysis.types) return ["it has no types"];
  const wrong = analysis.problems.filter(
    (problem) => !("resolutionKind" in problem && NOT_MODULES.has(problem.resolutionKind)),
  );
  return [
    ...messages.map((message) => formatMessage(message, pkg) ?? message.code),
    ...wrong.map((problem) => JSON.stringify(problem)),
  ];
}

const folder = mkdtempSync(join(tmpdir(), "mp-exports-"));
let problems = 0;
try {
  for (const [name, tarball] of packAll(folder)) {
    for (const problem of await problemsOf(tarball)) {
      problems++;
      console.error(`${name}: ${problem}`);
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`${problems} problems`);
process.exitCode = problems > 0 ? 1 : 0;
