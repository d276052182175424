import { preset } from "@mp/build/tsup";

export default preset({ index: "src/index.ts", compile: "src/entries/compile.ts" });
