import { buildPackage } from "@mp/build";

await buildPackage({ index: "src/index.ts", "mp-libtensorflow": "src/main.ts" });
