// The recipe's command line. It takes no flags: all settings are in recipe.ts.
const [flag] = process.argv.slice(2);
if (flag === undefined) await import("./recipe.js");
else if (flag === "--help" || flag === "-h")
  console.log(
    "recipe: trains a small classifier for 200 steps as a PyTorch recipe does: mixed_float16, two rates, frozen stem,\n" +
      "accumulation, clipping, an average of the weights, save and resume. Takes no flags; edit apps/recipe/src/recipe.ts",
  );
else {
  console.error(`recipe: unknown flag ${flag}; the recipe takes no flags but --help`);
  process.exitCode = 2;
}
