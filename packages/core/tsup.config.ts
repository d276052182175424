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
    probe: "src/probe/index.ts",
    reference: "src/reference/index.ts",
    "checkpoint-files": "src/checkpoint/files.ts",
    "no-checkpoint-files": "src/checkpoint/no-files.ts",
    internal: "src/entries/internal.ts",
    // No entry of the package, but a file of its own: so a bundler leaves it out of a program without use for it.
    "define-backend": "src/backend/define-backend.ts",
  },
  // Symbol.asyncDispose, of Backend and Trainer.
  { typeLibrary: "esnext.disposable", apart: { "./entries/ops.js": "ops" } },
);
