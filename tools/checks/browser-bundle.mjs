import { writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { manifestAt, root } from "../workspace/packages.mjs";
import { listImports } from "./imported-names.mjs";
import { linkProject } from "./linked-project.mjs";

const program = fileURLToPath(new URL("browser-program.js", import.meta.url));
const worker = join(root, "apps/browser/src/page/worker.ts");

/** The packages that `bundleForBrowser` reads as they were built. */
export const BUNDLED = ["@mp/core", "@mp/graph", "@mp/onnx", "@mp/backend-web", "@mp/nn"];

/** Options that all bundles for a browser share. @satisfies {import("esbuild").BuildOptions} */
const common = /** @type {const} */ ({
  bundle: true,
  format: "esm",
  platform: "browser",
  target: "es2023",
  write: false,
  logLevel: "error",
});

/** @typedef {{ code: string; nodeImports: readonly string[] }} Bundle `nodeImports`: imports of Node, with their files */

/**
 * Bundles for a browser, in `node_modules/.browser`: `core.js` has every export of every entry of core, and the small
 * program of the check `browser`; `page.js` has what the worker of `apps/browser` imports from core and from the writer
 * of ONNX models. Needs the built packages.
 * @returns {Promise<{ core: Bundle; page: Bundle }>}
 */
export async function bundleForBrowser() {
  const folder = linkProject(".browser");
  return {
    core: await bundle(folder, "core", everyExport(), "iife"),
    page: await bundle(folder, "page", await pageImports(), "esm", [loadedOnDemand]),
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
 * Writes a module that exports what the page's worker uses of core and the writer at its start, itself or through the
 * backend, the lowering and the layers. Parts that it loads on demand are left out.
 * @returns {Promise<string>}
 */
async function pageImports() {
  const { outputFiles } = await build({
    ...common,
    entryPoints: [worker],
    plugins: [
      {
        name: "core and the writer stay imports",
        setup({ onResolve }) {
          onResolve({ filter: /^onnxruntime-web\b/ }, ({ path }) => ({ path, external: true }));
          onResolve({ filter: /^@mp\// }, ({ path, kind }) =>
            kind === "dynamic-import" || /^@mp\/(core|onnx)(\/|$)/.test(path)
              ? { path, external: true, sideEffects: false }
              : undefined,
          );
        },
      },
    ],
  });
  return listImports(outputFiles[0]?.text ?? "")
    .map(({ name, from }, index) => `export { ${name} as name${index} } from "${from}";\n`)
    .join("");
}

/** Keeps out parts that are loaded on demand, since no bundler puts them in the file that a page loads at its start. */
const loadedOnDemand = {
  name: "parts that are loaded on demand",
  /** @param {import("esbuild").PluginBuild} build */
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ path, kind }) =>
      kind === "dynamic-import" ? { path, external: true } : undefined,
    );
  },
};

/**
 * @param {string} folder a project in which the packages are installed
 * @param {string} name
 * @param {string} contents
 * @param {"esm" | "iife"} format
 * @param {import("esbuild").Plugin[]} [plugins]
 * @returns {Promise<Bundle>}
 */
async function bundle(folder, name, contents, format, plugins = []) {
  const { outputFiles, metafile } = await build({
    ...common,
    stdin: { contents, resolveDir: folder },
    minify: true,
    format,
    plugins,
    // Imports of Node stay in the bundle, so that the check finds and names them.
    external: ["node:*", ...builtinModules],
    metafile: true,
  });
  const code = outputFiles[0]?.text ?? "";
  writeFileSync(join(folder, `${name}.js`), code);
  const nodeImports = Object.entries(metafile.inputs).flatMap(([file, input]) =>
    input.imports
      .filter(({ external, path }) => external && !path.startsWith("."))
      .map(({ path }) => `${file} imports ${path}`),
  );
  return { code, nodeImports };
}
