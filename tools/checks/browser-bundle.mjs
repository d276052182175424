import { mkdirSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { manifestAt, root } from "../workspace/packages.mjs";
import { linkedProject } from "./linked-project.mjs";

const program = fileURLToPath(new URL("browser-program.js", import.meta.url));

/**
 * Bundles core for a browser, with every export of every entry, and the program of this check with it: the smaller part.
 * Needs the built packages.
 * @returns {{ code: string; nodeImports: readonly string[] }} what imports a part of Node, and which
 */
export function bundleForBrowser() {
  const folder = linkedProject(".browser");
  const entries = Object.keys(manifestAt("packages/core").exports ?? {})
    .filter((entry) => !entry.endsWith(".json"))
    .map((entry) => join("@mp/core", entry).replaceAll("\\", "/"));
  const imports = entries.map((entry, index) => `import * as entry${index} from "${entry}";`);
  const core = `{ ${entries.map((_, index) => `...entry${index}`).join(", ")} }`;
  const { outputFiles, metafile } = buildSync({
    stdin: {
      contents: `${imports.join("\n")}
import { run } from ${JSON.stringify(program)};
globalThis.result = run(${core});
`,
      resolveDir: folder,
    },
    bundle: true,
    minify: true,
    format: "iife",
    platform: "browser",
    target: "es2023",
    // Left in the bundle, to be found and named.
    external: ["node:*", ...builtinModules],
    metafile: true,
    write: false,
    logLevel: "error",
  });
  const code = outputFiles[0]?.text ?? "";
  mkdirSync(join(root, "node_modules", ".browser"), { recursive: true });
  writeFileSync(join(folder, "core.js"), code);
  const nodeImports = Object.entries(metafile.inputs).flatMap(([file, input]) =>
    input.imports.filter(({ external }) => external).map(({ path }) => `${file} imports ${path}`),
  );
  return { code, nodeImports };
}
