import { webgpuPreset } from "@mp/build/vitest";

export default webgpuPreset();
