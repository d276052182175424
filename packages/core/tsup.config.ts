import { preset } from "@mp/build/tsup";

export default preset({
  index: "src/index.ts",
  reference: "src/reference/index.ts",
  backend: "src/backend-kit.ts",
  "checkpoint-files": "src/checkpoint/files.ts",
  "no-checkpoint-files": "src/checkpoint/no-files.ts",
});
