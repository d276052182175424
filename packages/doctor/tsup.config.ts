import { preset } from "@mp/build/tsup";

export default preset({
  index: "src/index.ts",
  "mp-doctor": "src/main.ts",
  "step-child": "src/step/step-child.ts",
});
