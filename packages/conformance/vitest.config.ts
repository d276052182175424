import { preset } from "@mp/build/vitest";

// Building the cases takes longer than most tests: the files that a worker runs share them.
export default preset({ maxWorkers: 2, isolate: false });
