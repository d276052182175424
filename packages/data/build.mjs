import { buildPackage } from "@mp/build";

await buildPackage({
  index: "src/index.ts",
  rows: "src/rows/index.ts",
  worker: "src/prefetch/worker.ts",
});
