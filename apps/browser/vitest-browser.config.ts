import { browserPreset } from "@mp/build/vitest";

export default browserPreset();
