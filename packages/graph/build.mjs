import { buildPackage } from "@mp/build";

await buildPackage({
  index: "src/index.ts",
  ops: "src/entries/ops.ts",
  backend: "src/entries/backend.ts",
  probe: "src/probe/index.ts",
  reference: "src/reference/index.ts",
  internal: "src/entries/internal.ts",
  // No entry of the package, but a file of its own: so a bundler leaves it out of a program without use for it.
  "define-backend": "src/backend/define-backend.ts",
});
