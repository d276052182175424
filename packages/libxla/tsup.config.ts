import { preset } from "@mp/build/tsup";

export default preset({ index: "src/index.ts", "mp-libxla": "src/main.ts" });
