import { pythonPreset } from "@mp/build/vitest";

export default pythonPreset();
