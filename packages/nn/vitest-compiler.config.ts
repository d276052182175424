import { compilerPreset } from "@mp/build/vitest";

export default compilerPreset();
