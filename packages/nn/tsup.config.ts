import { preset } from "@mp/build/tsup";

export default preset({
  index: "src/index.ts",
  adapters: "src/adapters/index.ts",
  generate: "src/generate/index.ts",
  metrics: "src/metrics/index.ts",
  safetensors: "src/safetensors/index.ts",
  transformers: "src/transformers/index.ts",
});
