import { preset } from "@mp/build/tsup";

export default preset({ index: "src/index.ts", training: "src/training/index.ts" });
