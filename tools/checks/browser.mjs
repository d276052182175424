/**
 * Checks `@mp/core` for browsers: its bundle imports no part of Node, and trains on the reference backend where none of
 * Node's globals exist, with the same bits as in Node.
 */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { createContext, runInContext } from "node:vm";
import { manifestAt, root } from "../workspace/packages.mjs";
import { buildPackages } from "../workspace/turbo.mjs";
import { BUNDLED, bundleForBrowser } from "./browser-bundle.mjs";
import { run } from "./browser-program.js";

/** Globals that browsers have besides the language; nothing of Node. */
const web = {
  AbortController,
  AbortSignal,
  MessageChannel,
  TextDecoder,
  TextEncoder,
  clearTimeout: (/** @type {number} */ id) => clearTimeout(id),
  console,
  performance,
  queueMicrotask,
  setTimeout: (/** @type {() => void} */ done, /** @type {number} */ delay) => setTimeout(done, delay),
};
const NO_PATHS = /^MP_UNSUPPORTED .*use saveBytes\(\)/;

if (!buildPackages(BUNDLED)) process.exit(1);
const { core, page } = await bundleForBrowser();
const { code } = core;
/** @type {string[]} */
const problems = [...core.nodeImports, ...page.nodeImports];
if (core.nodeImports.length === 0) problems.push(...(await differences(code)));
for (const problem of problems) console.error(`browser: ${problem}`);
console.log(`a bundle of ${Math.round(code.length / 1000)} kB, ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;

/**
 * Finds differences between the bundle without Node and the packages in Node.
 * @param {string} bundle
 * @returns {Promise<readonly string[]>}
 */
async function differences(bundle) {
  const expected = await run(await everyExport());
  const context = createContext({ ...web });
  const found = await outcome(() => {
    runInContext(bundle, context, { filename: "bundle" });
    return context["result"];
  });
  if (found instanceof Error) return [found.stack ?? found.message];
  const wrong = found.paths.filter((/** @type {string} */ answer) => !NO_PATHS.test(answer));
  return [
    ...wrong.map((/** @type {string} */ answer) => `a call with a path says ${answer}`),
    .../** @type {const} */ (["made", "losses", "next", "bytes"]).flatMap((name) =>
      isDeepStrictEqual(plain(found[name]), plain(expected[name]))
        ? []
        : [`${name} differ from those in Node`],
    ),
  ];
}

/**
 * @param {() => Promise<Awaited<ReturnType<typeof run>>>} call
 * @returns {Promise<Awaited<ReturnType<typeof run>> | Error>} an error is converted to one of this realm
 */
async function outcome(call) {
  try {
    return await call();
  } catch (error) {
    const { message = String(error), stack = message } = /** @type {{ message?: string; stack?: string }} */ (
      error
    );
    return Object.assign(new Error(message), {
      stack: stack.includes(message) ? stack : `${message}\n${stack}`,
    });
  }
}

async function everyExport() {
  /** @type {Record<string, unknown>} */
  const core = {};
  for (const entry of Object.values(manifestAt("packages/core").exports ?? {})) {
    if (typeof entry === "string") continue;
    const { default: file } = /** @type {{ default: string }} */ (entry);
    Object.assign(core, await import(pathToFileURL(join(root, "packages/core", file)).href));
  }
  return core;
}

/** Converts an array or a number to an array of this realm. @param {unknown} value */
function plain(value) {
  return Array.from(/** @type {Iterable<number>} */ (typeof value === "number" ? [value] : value));
}
