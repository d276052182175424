import { writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { manifestAt } from "../workspace/packages.mjs";
import { linkedProject } from "./linked-project.mjs";

const program = fileURLToPath(new URL("browser-program.js", import.meta.url));
const training = fileURLToPath(new URL("browser-training.js", import.meta.url));

/** @typedef {{ code: string; nodeImports: readonly string[] }} Bundle what imports a part of Node, and which */

/**
 * Bundles for a browser, in `node_modules/.browser`: `core.js` has every export of every entry of core, and the program
 * of the check `browser` with it, the smaller part; `training.js` has what a page that trains takes of core and the
 * writer of ONNX models. Needs the built packages.
 * @returns {{ core: Bundle; training: Bundle }}
 */
export function bundleForBrowser() {
  const folder = linkedProject(".browser");
  return {
    core: bundle(folder, "core", everyExport()),
    training: bundle(folder, "training", `import ${JSON.stringify(training)};`),
  };
}

/** @returns {string} */
function everyExport() {
  const entries = Object.keys(manifestAt("packages/core").exports ?? {})
    .filter((entry) => !entry.endsWith(".json"))
    .map((entry) => join("@mp/core", entry).replaceAll("\\", "/"));
  const imports = entries.map((entry, index) => `import * as entry${index} from "${entry}";`);
  const core = `{ ${entries.map((_, index) => `...entry${index}`).join(", ")} }`;
  return `${imports.join("\n")}
import { run } from ${JSON.stringify(program)};
globalThis.result = run(${core});
`;
}

/**
 * @param {string} folder a project in which the packages are installed
 * @param {string} name
 * @param {string} contents
 * @returns {Bundle}
 */
function bundle(folder, name, contents) {
  const { outputFiles, metafile } = buildSync({
    stdin: { contents, resolveDir: folder },
    bundle: true,
    minify: true,
    format: "iife",
    platform: "browser",
    target: "es2023",
    // The programs of the checks lie outside that project.
    nodePaths: [join(folder, "node_modules")],
    // Left in the bundle, to be found and named.
    external: ["node:*", ...builtinModules],
    metafile: true,
    write: false,
    logLevel: "error",
  });
  const code = outputFiles[0]?.text ?? "";
  writeFileSync(join(folder, `${name}.js`), code);
  const nodeImports = Object.entries(metafile.inputs).flatMap(([file, input]) =>
    input.imports.filter(({ external }) => external).map(({ path }) => `${file} imports ${path}`),
  );
  return { code, nodeImports };
}
