import { buildPackage } from "@mp/build";

await buildPackage({
  index: "src/index.ts",
  file: "src/file/index.ts",
  sha256: "src/sha256/plain.ts",
  "sha256-node": "src/sha256/node.ts",
});
