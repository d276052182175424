import { typesPreset } from "@mp/build/vitest";

export default typesPreset();
