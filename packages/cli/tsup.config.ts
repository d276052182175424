import { preset } from "@mp/build/tsup";

export default preset({
  index: "src/index.ts",
  corpus: "src/corpus/index.ts",
  training: "src/training/index.ts",
});
