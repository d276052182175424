import { buildPackage } from "@mp/build";

await buildPackage({
  index: "src/index.ts",
  training: "src/entries/training.ts",
  vitest: "src/entries/vitest.ts",
});
