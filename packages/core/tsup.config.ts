import { preset } from "@mp/build/tsup";

export default preset({
  index: "src/index.ts",
  reference: "src/reference/index.ts",
  checkpoint: "src/checkpoint/index.ts",
  backend: "src/backend-kit.ts",
});
