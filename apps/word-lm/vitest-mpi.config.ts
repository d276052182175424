import { suitePreset } from "@mp/build/vitest";

export default suitePreset("mpi");
