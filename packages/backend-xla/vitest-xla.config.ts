import { suitePreset } from "@mp/build/vitest";

export default suitePreset("xla", { maxWorkers: 2 });
