import { appPreset } from "@mp/build/tsup";

export default appPreset();
