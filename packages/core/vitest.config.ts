import { sharedPreset } from "@mp/build/vitest";

export default sharedPreset([
  "test/steady-memory.test.ts",
  "test/kill-and-resume.test.ts",
  // A warning that is printed once a process.
  "test/trainer/print-warning.test.ts",
]);
