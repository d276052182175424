import { preset } from "@mp/build/tsup";

export default preset({
  index: "src/index.ts",
  file: "src/file/index.ts",
  sha256: "src/sha256/plain.ts",
  "sha256-node": "src/sha256/node.ts",
});
