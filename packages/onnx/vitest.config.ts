import { sharedPreset } from "@mp/build/vitest";

export default sharedPreset([]);
