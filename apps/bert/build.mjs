import { buildApp } from "@mp/build";

await buildApp({ main: "src/main.ts", measure: "src/memory/measure.ts" });
