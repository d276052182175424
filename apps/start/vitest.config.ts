import { preset } from "@mp/build/vitest";

export default preset();
