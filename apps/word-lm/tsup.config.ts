import { appPreset } from "@mp/build/tsup";

export default appPreset({ main: "src/main.ts", demo: "src/demo/demo.ts" });
