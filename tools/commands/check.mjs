import { fail } from "../workspace/fail.mjs";
import { runStages } from "../workspace/stages.mjs";
import { runCheck, tool, turbo } from "../workspace/turbo.mjs";

/** @type {Readonly<Record<string, () => boolean | Promise<boolean>>>} */
const CHECKS = {
  biome: () => tool("biome", ["check", "--error-on-warnings", "."]),
  types: () =>
    [turbo(["check:types"], { quiet: true, keepGoing: true }), tool("tsc", ["-p", "tools"])].every(Boolean),
  imports: () => tool("depcruise", ["packages/*/src", "--output-type", "err-long"]),
  knip: () => tool("knip", ["--no-config-hints"]),
  api: async () => (await import("../checks/api-reports.mjs")).apiReports({ write: false }),
  exports: () => turbo(["check:exports"], { quiet: true, keepGoing: true }),
  browser: () => runCheck("browser"),
  size: () => runCheck("size"),
  changeset: () => runCheck("changeset"),
  "errors-doc": () => runCheck("errors-doc"),
  docs: () => runCheck("docs"),
  layout: () => runCheck("layout"),
  links: () => runCheck("links"),
  site: async () => (await (await import("./docs.mjs")).run()) === 0 && runCheck("narrow-site"),
  spelling: () => runCheck("spelling"),
  words: () => runCheck("words"),
  pack: () => runCheck("pack-install"),
  publish: () => runCheck("publish-rehearsal"),
};

/** They take minutes and a registry, so they run only when named. */
const ON_REQUEST = new Set(["pack", "publish"]);

/** @param {readonly string[]} names @param {() => void} install @returns {Promise<number>} exit code */
export function run(names, install) {
  const unknown = names.find((name) => !Object.hasOwn(CHECKS, name));
  if (unknown !== undefined)
    fail(`check: no check is called "${unknown}"; checks: ${Object.keys(CHECKS).join(", ")}`, 2);
  install();
  const chosen = names.length > 0 ? names : Object.keys(CHECKS).filter((name) => !ON_REQUEST.has(name));
  return runStages(
    "check",
    chosen.map((name) => ({ name, run: () => CHECKS[name]?.() ?? false })),
  );
}
