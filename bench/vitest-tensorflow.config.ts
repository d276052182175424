import { tensorflowPreset } from "@mp/build/vitest";

export default tensorflowPreset();
