import { preset } from "@mp/build/tsup";

export default preset({
  index: "src/index.ts",
  ops: "src/entries/ops.ts",
  optim: "src/entries/optim.ts",
  report: "src/entries/report.ts",
  graph: "src/entries/graph.ts",
  backend: "src/entries/backend.ts",
  reference: "src/reference/index.ts",
  checkpoint: "src/checkpoint/index.ts",
  internal: "src/entries/internal.ts",
});
