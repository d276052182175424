// Builds the app of the working directory, whose only program is src/main.ts; others have a build.mjs.
import { buildApp } from "./build.mjs";

await buildApp({ main: "src/main.ts" });
