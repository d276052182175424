import { suitePreset } from "@mp/build/vitest";

export default suitePreset("webgpu", { maxWorkers: 2 });
