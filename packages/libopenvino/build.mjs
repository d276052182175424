import { buildPackage } from "@mp/build";

await buildPackage({ index: "src/index.ts", "mp-libopenvino": "src/main.ts" });
