import { buildPackage } from "@mp/build";

await buildPackage({
  index: "src/index.ts",
  ops: "src/entries/ops.ts",
  optim: "src/entries/optim.ts",
  fit: "src/entries/fit.ts",
  report: "src/entries/report.ts",
  compat: "src/entries/compat.ts",
  graph: "src/entries/graph.ts",
  backend: "src/entries/backend.ts",
  probe: "src/entries/probe.ts",
  reference: "src/entries/reference.ts",
  "checkpoint-files": "src/checkpoint/files.ts",
  "no-checkpoint-files": "src/checkpoint/no-files.ts",
});
