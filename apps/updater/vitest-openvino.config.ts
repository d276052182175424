import { openvinoPreset } from "@mp/build/vitest";

export default openvinoPreset();
