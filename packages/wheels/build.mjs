import { buildPackage } from "@mp/build";

await buildPackage({
  index: "src/index.ts",
  "file-failure": "src/file-failure.ts",
  "file-sum": "src/file-sum.ts",
  "own-place": "src/own-place.ts",
  publish: "src/publish.ts",
  scratch: "src/scratch.ts",
});
