/** The one build recipe: every package passes its entry map, so that replacing the bundler is a change of this file. */
export const preset = (entry) => ({
  entry,
  format: ["esm"],
  target: "node20",
  dts: true,
  sourcemap: true,
  clean: true,
});
