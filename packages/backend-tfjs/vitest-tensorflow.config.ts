import { sharedPreset, suitePreset } from "@mp/build/vitest";

// glibc reads this when a worker starts: it returns large blocks to the system as soon as they are freed, so that the
// test of peak memory measures TensorFlow's memory without the allocator's reserve.
process.env["MALLOC_MMAP_THRESHOLD_"] ??= String(2 ** 20);

// No other package has so many tests on TensorFlow: the second core would be idle. A process opens TensorFlow in seconds,
// so the files share two processes, except those that measure memory, choose kernels or start processes themselves.
export default sharedPreset(
  ["memory", "onednn", "quiet"].map((name) => `test/tensorflow/${name}.test.ts`),
  {},
  suitePreset("tensorflow", { maxWorkers: 2 }),
);
