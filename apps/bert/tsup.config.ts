import { appPreset } from "@mp/build/tsup";

export default appPreset({ main: "src/main.ts", measure: "src/memory/measure.ts" });
