import { resolve } from "node:path";
import { sharedPreset } from "@mp/build/vitest";

/** Tests run the sources of `@mp/graph` too: helpers in its folder `test` then share its classes. */
const graph = (file: string): string => resolve("../graph/src", file);

export default sharedPreset(
  [
    "test/steady-memory.test.ts",
    "test/kill-and-resume.test.ts",
    // A warning that is printed once a process.
    "test/trainer/print-warning.test.ts",
  ],
  {
    "@mp/graph/ops": graph("entries/ops.ts"),
    "@mp/graph/backend": graph("entries/backend.ts"),
    "@mp/graph/internal": graph("entries/internal.ts"),
    "@mp/graph/probe": graph("probe/index.ts"),
    "@mp/graph/reference": graph("reference/index.ts"),
    "@mp/graph": graph("index.ts"),
  },
);
