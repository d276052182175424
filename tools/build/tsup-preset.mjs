/** `tsup --no-dts` builds only the JavaScript, in a tenth of the time, and keeps the existing declarations. */
const declarations = !process.argv.includes("--no-dts");

/**
 * Sources name the types of what they export (`isolatedDeclarations`), so a package's declarations are made from its
 * own files, unchecked: `Classic` finds neither other packages nor Node's types, and they would be most of the work.
 * `npm run check -- types` checks.
 */
const compilerOptions = {
  noCheck: true,
  lib: ["ES2023", "ESNext.Disposable"],
  types: [],
  module: "ESNext",
  moduleDetection: "force",
  moduleResolution: "Classic",
};

/** The only build recipe: every package passes its entry map, so that replacing the bundler changes only this file. */
export const preset = (/** @type {Record<string, string>} */ entry, { typeLibrary = "" } = {}) => ({
  entry,
  format: /** @type {const} */ (["esm"]),
  target: "node20",
  // For a program whose `target` is older than a type that we use, names the library that declares the type.
  dts: declarations && {
    ...(typeLibrary !== "" && { banner: `/// <reference lib="${typeLibrary}" />` }),
    compilerOptions,
  },
  sourcemap: true,
  clean: declarations ? true : ["!**/*.d.ts"],
  // Imports that package.json resolves where the program runs: another file in Node than in a browser.
  external: [/^#/],
});

/** Builds an app: one program without declarations, because it is run and not imported. */
export const appPreset = (/** @type {Record<string, string>} */ entry = { main: "src/main.ts" }) => ({
  ...preset(entry),
  dts: false,
  clean: true,
});
