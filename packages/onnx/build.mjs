import { buildPackage } from "@mp/build";

await buildPackage({ index: "src/index.ts", write: "src/entries/write.ts" });
