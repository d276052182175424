import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { libraries, root } from "../workspace/packages.mjs";
import { buildPackages, runCheck, tool } from "../workspace/turbo.mjs";

/**
 * Checks by name, those that take longest first, so that none of them is left over at the end.
 * @type {Readonly<Record<string, () => boolean | Promise<boolean>>>}
 */
const CHECKS = {
  site: async () => (await (await import("./docs.mjs")).run()) === 0 && runCheck("narrow-site"),
  docs: () => runCheck("docs"),
  types: () => runCheck("typescript"),
  biome: () => tool("biome", ["check", "--error-on-warnings", "."]),
  // A pattern would be looked for in all of packages/, where tests make folders and remove them.
  imports: () => tool("depcruise", ["-T", "err-long", ...libraries().map(({ path }) => `${path}/src`)]),
  spelling: () => runCheck("spelling"),
  knip: () => tool("knip", ["--no-config-hints"]),
  exports: () => runCheck("exports"),
  api: async () => (await import("../checks/api-reports.mjs")).apiReports({ write: false }),
  browser: () => runCheck("browser"),
  size: () => runCheck("size"),
  layout: () => runCheck("layout"),
  changeset: () => runCheck("changeset"),
  "errors-doc": () => runCheck("errors-doc"),
  links: () => runCheck("links"),
  words: () => runCheck("words"),
};
/** Checks that take minutes and need a registry, so that they run only when named. */
const ON_REQUEST = ["pack", "publish"];
/** Checks that run at a time, because the machines that this is made for have two cores. */
const AT_ONCE = 2;

/** @param {readonly string[]} names @param {() => void} install @returns {Promise<number>} exit code */
export async function run(names, install) {
  const usual = Object.keys(CHECKS);
  const known = [...usual, ...ON_REQUEST];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) fail(`check: no check is called "${unknown}"; checks: ${known.join(", ")}`, 2);
  install();
  const [name = "", ...others] = names.length > 0 ? names : usual;
  return others.length > 0 ? runAll([name, ...others]) : runOne(name);
}

/** @param {string} name @returns {Promise<number>} exit code */
async function runOne(name) {
  const start = performance.now();
  const isGood = await (CHECKS[name]?.() ?? runCheck(name));
  console.log(outcome(name, isGood, start));
  return isGood ? 0 : 1;
}

/** @param {string} name @param {boolean} isGood @param {number} start */
const outcome = (name, isGood, start) =>
  `${isGood ? "ok  " : "FAIL"} ${name} ${((performance.now() - start) / 1000).toFixed(1)} s`;

/**
 * Runs each check in a process, and prints what it said when it ends.
 * @param {readonly string[]} names
 * @returns {Promise<number>} exit code
 */
async function runAll(names) {
  if (!buildPackages()) return 1;
  const waiting = [...names];
  /** @type {string[]} */
  const outcomes = [];
  let failed = 0;
  const runWaiting = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const start = performance.now();
      const child = spawn(process.execPath, [join(root, "tools/run.mjs"), "check", name], {
        env: { ...process.env, MP_BUILT: "1" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let said = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text) => {
          said += text;
        });
      const [status] = await once(child, "close");
      if (status !== 0) failed++;
      console.log(`\n── ${name}\n${said.trim()}`);
      outcomes.push(outcome(name, status === 0, start));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runWaiting));
  console.log(`\n${outcomes.join("\n")}\ncheck: ${names.length - failed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}
