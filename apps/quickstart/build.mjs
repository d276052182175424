import { buildApp } from "@mp/build";

await buildApp({ main: "src/main.ts", program: "src/program.ts" });
