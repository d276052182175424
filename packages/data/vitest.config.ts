import { sharedPreset } from "@mp/build/vitest";

export default sharedPreset([
  // They measure memory and count threads.
  "src/image/idx.test.ts",
  "src/rows/parquet.test.ts",
  "test/prefetch.test.ts",
]);
