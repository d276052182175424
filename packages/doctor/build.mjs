import { buildPackage } from "@mp/build";

await buildPackage({
  index: "src/index.ts",
  "mp-doctor": "src/main.ts",
  "step-child": "src/step/step-child.ts",
});
