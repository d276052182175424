import { fail } from "../workspace/fail.mjs";
import { runStages } from "../workspace/stages.mjs";
import { runCheck, tool } from "../workspace/turbo.mjs";

/** @type {Readonly<Record<string, () => boolean | Promise<boolean>>>} */
const CHECKS = {
  biome: () => tool("biome", ["check", "--error-on-warnings", "."]),
  imports: () => tool("depcruise", ["packages/*/src", "--output-type", "err-long"]),
  knip: () => tool("knip", ["--no-config-hints"]),
  api: async () => (await import("../checks/api-reports.mjs")).apiReports({ write: false }),
  site: async () => (await (await import("./docs.mjs")).run()) === 0 && runCheck("narrow-site"),
};

/** Checks that are programs in tools/checks, of the same name. */
const PROGRAMS = [
  "types",
  "exports",
  "browser",
  "size",
  "changeset",
  "errors-doc",
  "docs",
  "layout",
  "links",
  "spelling",
  "words",
];
/** Programs that take minutes and need a registry, so that they run only when named. */
const ON_REQUEST = ["pack", "publish"];
const USUAL = [...Object.keys(CHECKS), ...PROGRAMS];

/** @param {readonly string[]} names @param {() => void} install @returns {Promise<number>} exit code */
export function run(names, install) {
  const known = [...USUAL, ...ON_REQUEST];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) fail(`check: no check is called "${unknown}"; checks: ${known.join(", ")}`, 2);
  install();
  const chosen = names.length > 0 ? names : USUAL;
  return runStages(
    "check",
    chosen.map((name) => ({ name, run: () => CHECKS[name]?.() ?? runCheck(name) })),
  );
}
