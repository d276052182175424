/** `tsup --no-dts` makes the JavaScript alone, in a tenth of the time, and leaves the declarations that are there. */
const declarations = !process.argv.includes("--no-dts");

/** The one build recipe: every package passes its entry map, so that replacing the bundler is a change of this file. */
export const preset = (/** @type {Record<string, string>} */ entry) => ({
  entry,
  format: /** @type {const} */ (["esm"]),
  target: "node20",
  dts: declarations,
  sourcemap: true,
  clean: declarations ? true : ["!**/*.d.ts"],
});

/** An app is run, not imported: one program, no declarations. */
export const appPreset = (/** @type {Record<string, string>} */ entry = { main: "src/main.ts" }) => ({
  ...preset(entry),
  dts: false,
  clean: true,
});
