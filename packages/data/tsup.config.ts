import { preset } from "@mp/build/tsup";

export default preset({
  index: "src/index.ts",
  rows: "src/rows/index.ts",
  worker: "src/prefetch/worker.ts",
});
