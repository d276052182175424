import { buildApp } from "@mp/build";

await buildApp({ main: "src/main.ts", speed: "src/speed/main.ts" });
