import { appPreset } from "@mp/build/tsup";

export default appPreset({ main: "src/main.ts", program: "src/program.ts" });
