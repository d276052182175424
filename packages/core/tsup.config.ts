import { preset } from "@mp/build/tsup";

export default preset(
  {
    index: "src/index.ts",
    ops: "src/entries/ops.ts",
    optim: "src/entries/optim.ts",
    fit: "src/entries/fit.ts",
    report: "src/entries/report.ts",
    compat: "src/entries/compat.ts",
    graph: "src/entries/graph.ts",
    backend: "src/entries/backend.ts",
    reference: "src/reference/index.ts",
    "checkpoint-files": "src/checkpoint/files.ts",
    "no-checkpoint-files": "src/checkpoint/no-files.ts",
    internal: "src/entries/internal.ts",
  },
  // Symbol.asyncDispose, of Backend and Trainer.
  { typeLibrary: "esnext.disposable" },
);
