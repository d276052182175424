import { suitePreset } from "@mp/build/vitest";

export default suitePreset("tensorflow");
