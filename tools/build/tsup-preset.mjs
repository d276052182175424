/** `tsup --no-dts` builds only the JavaScript, in a tenth of the time, and keeps the existing declarations. */
const declarations = !process.argv.includes("--no-dts");

/**
 * A namespace that a module exports (`export * as ops from`) stays a module of its own in `dist`. Built into the same file
 * it becomes an object that names all its members, which no bundler leaves out of a program that uses one of them, or none.
 * @param {Readonly<Record<string, string>>} modules the entry that holds each, by the path of the import
 */
const namespaces = (modules) => ({
  name: "namespaces",
  /** @param {import("esbuild").PluginBuild} build */
  setup(build) {
    build.onResolve({ filter: /^\.\.?\// }, ({ path }) => {
      const entry = modules[path];
      return entry === undefined ? undefined : { path: `./${entry}.js`, external: true };
    });
  },
});

/** The only build recipe: every package passes its entry map, so that replacing the bundler changes only this file. */
export const preset = (
  /** @type {Record<string, string>} */ entry,
  { typeLibrary = "", apart = /** @type {Readonly<Record<string, string>>} */ ({}) } = {},
) => ({
  entry,
  format: /** @type {const} */ (["esm"]),
  target: "node20",
  // A program whose `target` is older than a type of ours gets the library that declares it with the type.
  dts:
    declarations && typeLibrary !== "" ? { banner: `/// <reference lib="${typeLibrary}" />` } : declarations,
  sourcemap: true,
  clean: declarations ? true : ["!**/*.d.ts"],
  // Imports that package.json resolves where the program runs: another file in Node than in a browser.
  external: [/^#/],
  esbuildPlugins: [namespaces(apart)],
});

/** An app is run, not imported: one program, no declarations. */
export const appPreset = (/** @type {Record<string, string>} */ entry = { main: "src/main.ts" }) => ({
  ...preset(entry),
  dts: false,
  clean: true,
});
