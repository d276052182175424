import { mpiPreset } from "@mp/build/vitest";

export default mpiPreset();
