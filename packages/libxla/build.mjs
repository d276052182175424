import { buildPackage } from "@mp/build";

await buildPackage({ index: "src/index.ts", "mp-libxla": "src/main.ts" });
