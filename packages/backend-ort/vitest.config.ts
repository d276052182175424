import { sharedPreset } from "@mp/build/vitest";

export default sharedPreset([
  // They choose the threads of the library, which it has once in a process, or measure memory.
  "src/native/binding.test.ts",
  "src/native/cuda.test.ts",
  "src/native/environment.test.ts",
  "src/native/locate.test.ts",
  "src/native/tensor.test.ts",
  "test/constant-operands.test.ts",
  "test/constant-state.test.ts",
  "test/execution-order.test.ts",
  "test/worker.test.ts",
  // The longest of all.
  "test/conformance.test.ts",
]);
