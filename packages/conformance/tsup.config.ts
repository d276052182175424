import { preset } from "@mp/build/tsup";

export default preset({
  index: "src/index.ts",
  training: "src/entries/training.ts",
  vitest: "src/entries/vitest.ts",
});
