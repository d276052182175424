import { buildPackage } from "@mp/build";

await buildPackage({
  index: "src/index.ts",
  probe: "src/probe/index.ts",
  program: "src/program/index.ts",
});
