import { buildPackage } from "@mp/build";

await buildPackage({
  index: "src/index.ts",
  corpus: "src/corpus/index.ts",
  training: "src/training/index.ts",
});
