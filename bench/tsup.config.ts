import { appPreset } from "@mp/build/tsup";

export default appPreset({
  main: "src/main.ts",
  child: "src/child.ts",
  kernels: "src/kernels.ts",
  models: "src/models.ts",
  "node-tests": "src/node-tests.ts",
  "half-products": "src/half-products.ts",
});
