// Builds the package of the working directory, whose only entry is src/index.ts; others have a build.mjs.
import { buildPackage } from "./build.mjs";

await buildPackage({ index: "src/index.ts" });
