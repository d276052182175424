import { buildPackage } from "@mp/build";

await buildPackage({ index: "src/index.ts", compile: "src/entries/compile.ts" });
