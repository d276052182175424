/** The API reference: every entry of the public packages, made from the docstrings, one page for each heading of an entry. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { entrySource, publicLibraries, root } from "../workspace/packages.mjs";
import { tool } from "../workspace/turbo.mjs";

/** Entries that programs do not import. */
const NOT_PUBLIC = new Set(["./package.json", "./internal", "./command", "./worker"]);

/** Matches the re-export of another package's entry. The pages of that package then name both entries. */
const PASSING_ON = /^export \* from "(@mp\/[^"]+)";$/m;

/**
 * @param {import("../workspace/packages.mjs").WorkspacePackage} library
 * @returns {readonly { imported: string; source: string }[]} the entries that programs import, and their files
 */
const publicEntries = (library) => {
  const { path, name, manifest } = library;
  return Object.keys(manifest.exports ?? {})
    .filter((entry) => !NOT_PUBLIC.has(entry))
    .map((entry) => {
      const source = entrySource(library, entry === "." ? "index" : entry.slice(2));
      return {
        imported: posix.join(name, entry),
        source: source ?? fail(`docs: ${path} has no source for its entry ${entry}`),
      };
    });
};

/**
 * Writes a module for each heading of each entry that programs import. A heading is a comment such as
 * `// Precision: presets and policies`; an entry without one is one module.
 * @param {string} folder
 * @param {readonly import("../workspace/packages.mjs").WorkspacePackage[]} libraries
 * @returns {readonly string[]} their files, which TypeDoc names the pages by
 */
function writeModules(folder, libraries) {
  const entries = libraries.flatMap(publicEntries);
  const passers = new Map(
    entries.map(({ imported, source }) => [PASSING_ON.exec(readFileSync(source, "utf8"))?.[1], imported]),
  );
  return entries.flatMap(({ imported, source }) =>
    exportGroups(source).map(({ heading, names }) => {
      const file = `${join(folder, imported.slice(4), heading)}.ts`;
      mkdirSync(dirname(file), { recursive: true });
      const from = posix.relative(dirname(file), source.replace(/ts$/, "js"));
      const places = [passers.get(imported) ?? [], imported].flat().map((place) => `\`${place}\``);
      writeFileSync(
        file,
        `/**\n * Imported from ${places.join(" or ")}${listNames(names)}.\n * @module\n */\nexport ${names} from "${from}";\n`,
      );
      return file;
    }),
  );
}

/** Functions and values of a list of exports, for the index. @param {string} names */
function listNames(names) {
  const values = names.match(/(?<=[{,] )(?!type )\w+(?= [},]|,)/g) ?? [];
  return values.length === 0 ? "" : `: ${values.map((name) => `\`${name}\``).join(", ")}`;
}

/** The names that a source file declares and exports, as a list of exports. @param {string} file */
function listDeclared(file) {
  const text = readFileSync(file, "utf8");
  const found = text.matchAll(/^export (?:async )?(?:(interface|type)|function|const|class) (\w+)/gm);
  return [...new Set([...found].map(([, type, name]) => (type ? `type ${name}` : name)))].join(", ");
}

/**
 * @param {string} source the file of an entry
 * @returns {readonly { heading: string; names: string }[]} what it exports under each heading; all, where it has none
 */
function exportGroups(source) {
  const whole = readFileSync(source, "utf8").replace(
    /^export \* from "(\..+)\.js";$/gm,
    (_, path) => `export { ${listDeclared(join(dirname(source), `${path}.ts`))} };`,
  );
  const [before = "", ...parts] = whole.split(/^\/\/ (?=[A-Z])/m);
  if (parts.length === 0 && !PASSING_ON.test(whole)) return [{ heading: "", names: "*" }];
  if (parts.length > 0 && /^export /m.test(before))
    fail(`docs: ${source} exports names before its first heading`);
  // A part without a heading begins with an empty line.
  return (parts.length > 0 ? parts : [`\n${whole}`]).flatMap((text) => {
    const exported = [...text.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap(
      ([, type = "", names = ""]) =>
        names.split(",").flatMap((name) => (name.trim() === "" ? [] : [`${type}${name.trim()}`])),
    );
    // A namespace is documented by its own entry.
    if (exported.length === 0 || /^import \* as/m.test(text)) return [];
    return [{ heading: /^[^:\n]+/.exec(text)?.[0] ?? "", names: `{ ${exported.join(", ")} }` }];
  });
}

/**
 * Writes the reference as Markdown, with a sidebar for VitePress in `typedoc-sidebar.json`.
 * @param {string} site the folder in which the site is made
 * @param {string} out the folder of the pages
 * @param {string} readme whose table of packages has the reference's order
 * @returns {boolean} whether TypeDoc converted the entries without a warning
 */
export function writeReference(site, out, readme) {
  const entries = join(site, "entries");
  const [, order = ""] = readme.split("## Packages\n");
  const place = (/** @type {{ name: string }} */ { name }) =>
    `${order}[\`${name}\`]`.indexOf(`[\`${name}\`]`);
  const libraries = [...publicLibraries()].sort((a, b) => place(a) - place(b));
  const options = {
    name: "API reference",
    entryPoints: writeModules(entries, libraries),
    tsconfig: join(site, "tsconfig.json"),
    basePath: entries,
    plugin: [
      "typedoc-plugin-markdown",
      "typedoc-vitepress-theme",
      join(root, "tools/site/reference-plugin.mjs"),
    ],
    out,
    docsRoot: dirname(out),
    sidebar: { autoConfiguration: true, format: "vitepress", collapsed: true },
    readme: "none",
    outputFileStrategy: "modules",
    sortEntryPoints: false,
    sort: ["source-order"],
    groupOrder: ["Functions", "Variables", "Classes", "Interfaces", "Type Aliases", "*"],
    indexFormat: "table",
    expandObjects: true,
    expandParameters: true,
    tableColumnSettings: {
      hideDefaults: true,
      hideInherited: true,
      hideModifiers: true,
      hideOverrides: true,
    },
    parametersFormat: "table",
    interfacePropertiesFormat: "table",
    classPropertiesFormat: "table",
    typeAliasPropertiesFormat: "table",
    typeDeclarationFormat: "table",
    useCustomAnchors: true,
    customAnchorsFormat: "curlyBrace",
    sanitizeComments: true,
    hideBreadcrumbs: true,
    disableSources: true,
    excludeExternals: true,
    excludeInternal: true,
    excludePrivate: true,
    skipErrorChecking: true,
    gitRevision: "main",
    treatWarningsAsErrors: true,
    // A type that only another type names is shown where it is used.
    validation: { notExported: false, invalidLink: true, invalidPath: true, rewrittenLink: true },
  };
  const compilerOptions = { noEmit: true, types: ["node"] };
  writeFileSync(
    join(site, "tsconfig.json"),
    JSON.stringify({ extends: "../tsconfig.base.json", compilerOptions, include: ["entries"] }),
  );
  writeFileSync(join(site, "typedoc.json"), JSON.stringify(options));
  return tool("typedoc", ["--options", join(site, "typedoc.json")]);
}
