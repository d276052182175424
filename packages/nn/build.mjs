import { buildPackage } from "@mp/build";

await buildPackage({
  index: "src/index.ts",
  adapters: "src/adapters/index.ts",
  internal: "src/entries/internal.ts",
  metrics: "src/metrics/index.ts",
  safetensors: "src/safetensors/index.ts",
  timm: "src/timm/index.ts",
});
