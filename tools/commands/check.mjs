import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { root } from "../workspace/packages.mjs";
import { runStages } from "../workspace/stages.mjs";
import { tool, turbo } from "../workspace/turbo.mjs";
import { runDocs } from "./docs.mjs";

/** @param {string} name */
const script = (name) =>
  spawnSync(process.execPath, [join(root, "tools/checks", `${name}.mjs`)], {
    stdio: ["ignore", "inherit", "inherit"],
  }).status === 0;

/** @type {Readonly<Record<string, () => boolean | Promise<boolean>>>} */
const checks = {
  biome: () => tool("biome", ["check", "--error-on-warnings", "."]),
  types: () =>
    [turbo(["check:types"], { quiet: true, keepGoing: true }), tool("tsc", ["-p", "tools"])].every(Boolean),
  imports: () => tool("depcruise", ["packages/*/src", "--output-type", "err-long"]),
  knip: () => tool("knip", ["--no-config-hints"]),
  exports: () => turbo(["check:exports"], { quiet: true, keepGoing: true }),
  browser: () => script("browser"),
  size: () => script("size"),
  changeset: () => script("changeset"),
  "errors-doc": () => script("errors-doc"),
  docs: () => script("docs"),
  layout: () => script("layout"),
  links: () => script("links"),
  site: async () => (await runDocs()) === 0 && script("narrow-site"),
  spelling: () => script("spelling"),
  words: () => script("words"),
  docstrings: () => script("docstrings"),
  pack: () => script("pack-install"),
  publish: () => script("publish-rehearsal"),
};

/** They take minutes and a registry, so they run only when named. */
const onRequest = new Set(["pack", "publish"]);

/**
 * @param {readonly string[]} names
 * @returns {readonly string[]}
 */
export function findChecks(names) {
  const unknown = names.filter((name) => !Object.hasOwn(checks, name));
  if (unknown.length > 0)
    fail(`check: no check is called "${unknown[0]}"; checks: ${Object.keys(checks).join(", ")}`, 2);
  return names.length > 0 ? names : Object.keys(checks).filter((name) => !onRequest.has(name));
}

/**
 * @param {readonly string[]} names
 * @returns {Promise<number>} exit code
 */
export function runChecks(names) {
  return runStages(
    "check",
    names.map((name) => ({ name, run: () => checks[name]?.() ?? false })),
  );
}
