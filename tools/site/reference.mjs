/** The API reference: every entry of the public packages, made from the docstrings, one page for each heading of an entry. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { publicLibraries, root } from "../workspace/packages.mjs";
import { tool } from "../workspace/turbo.mjs";
import { correctReference } from "./reference-pages.mjs";

/** Entries that programs do not import. */
const NOT_PUBLIC = new Set(["./package.json", "./internal", "./command", "./worker"]);

/**
 * @typedef {object} Module a page of the reference
 * @property {string} entry what programs import, such as `@mp/core/ops`
 * @property {string} title the heading in the entry's source; the entry's name where it has none
 * @property {string} path below `api/`, without an extension
 */

/**
 * Writes a file for each heading of each entry of a package that programs import, at the path that TypeDoc gives to the
 * module. A heading is a comment such as `// Precision: presets and policies`.
 * @param {string} folder
 * @param {import("../workspace/packages.mjs").WorkspacePackage} one
 * @returns {readonly Module[]}
 */
const modulesOf = (folder, { path, name, manifest }) =>
  Object.keys(manifest.exports ?? {})
    .filter((entry) => !NOT_PUBLIC.has(entry))
    .flatMap((entry) => {
      const part = entry === "." ? "index" : entry.slice(2);
      const candidates = [`src/${part}.ts`, `src/entries/${part}.ts`, `src/${part}/index.ts`];
      const source = candidates.map((file) => join(root, path, file)).find((file) => existsSync(file));
      if (source === undefined) fail(`docs: ${path} has no source for its entry ${entry}`);
      const imported = posix.join(name, entry);
      return groupsOf(source).map(({ heading, names }) => {
        const below = (heading ?? "").toLowerCase().replace(/[^a-z0-9]+/g, "-");
        const module = {
          entry: imported,
          title: heading ?? imported,
          path: posix.join(imported.slice(4), below),
        };
        const file = join(folder, `${module.path}.ts`);
        mkdirSync(dirname(file), { recursive: true });
        const from = posix.relative(dirname(file), source.replace(/ts$/, "js"));
        writeFileSync(
          file,
          `/**\n * Imported from \`${imported}\`${listed(names)}.\n * @module\n */\nexport ${names} from "${from}";\n`,
        );
        return module;
      });
    });

/** Names that a module's line in the index lists, at most. */
const MOST_LISTED = 8;

/** The first functions and values of a list of exports, for the index. @param {string} names */
function listed(names) {
  const values = names.match(/(?<=[{,] )(?!type )\w+(?= [},]|,)/g) ?? [];
  if (values.length === 0) return "";
  const more = values.length > MOST_LISTED ? " and others" : "";
  return `: ${values
    .slice(0, MOST_LISTED)
    .map((name) => `\`${name}\``)
    .join(", ")}${more}`;
}

/**
 * @param {string} source the file of an entry
 * @returns {readonly { heading?: string; names: string }[]} what it exports under each heading; all, where it has none
 */
function groupsOf(source) {
  const [before = "", ...parts] = readFileSync(source, "utf8").split(/^\/\/ (?=[A-Z])/m);
  if (parts.length === 0) return [{ names: "*" }];
  if (/^export /m.test(before)) fail(`docs: ${source} exports names before its first heading`);
  return parts.flatMap((text) => {
    const exported = [...text.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap(
      ([, type = "", names = ""]) =>
        names.split(",").flatMap((name) => (name.trim() === "" ? [] : [`${type}${name.trim()}`])),
    );
    // A namespace is documented by its own entry.
    if (exported.length === 0) return [];
    return [{ heading: /^[^:\n]+/.exec(text)?.[0] ?? "", names: `{ ${exported.join(", ")} }` }];
  });
}

/**
 * Writes the reference as Markdown.
 * @param {string} site the folder in which the site is made
 * @param {string} out the folder of the pages
 * @param {string} readme whose table of packages has the reference's order
 * @returns {readonly Module[] | undefined} nothing where it did not convert without a warning
 */
export function writeReference(site, out, readme) {
  const entries = join(site, "entries");
  const [, order = ""] = readme.split("## Packages\n");
  const placeOf = (/** @type {{ name: string }} */ { name }) =>
    `${order}[\`${name}\`]`.indexOf(`[\`${name}\`]`);
  const libraries = [...publicLibraries()].sort((a, b) => placeOf(a) - placeOf(b));
  const modules = libraries.flatMap((one) => modulesOf(entries, one));
  const options = {
    name: "API reference",
    entryPoints: modules.map(({ path }) => join(entries, `${path}.ts`)),
    tsconfig: join(site, "tsconfig.json"),
    basePath: entries,
    plugin: ["typedoc-plugin-markdown"],
    out,
    readme: "none",
    entryFileName: "index",
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
    sanitizeComments: true,
    hideBreadcrumbs: true,
    hidePageHeader: true,
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
  const include = ["entries"];
  writeFileSync(
    join(site, "tsconfig.json"),
    JSON.stringify({ extends: "../tsconfig.base.json", compilerOptions, include }),
  );
  writeFileSync(join(site, "typedoc.json"), JSON.stringify(options));
  if (!tool("typedoc", ["--options", join(site, "typedoc.json")])) return undefined;
  correctReference(out, modules);
  return modules;
}
