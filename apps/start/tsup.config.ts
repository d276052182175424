import { appPreset } from "@mp/build/tsup";

export default appPreset({ main: "src/main.ts", speed: "src/speed/main.ts" });
