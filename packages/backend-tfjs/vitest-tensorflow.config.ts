import { suitePreset } from "@mp/build/vitest";

// glibc reads this when a worker starts: it returns large blocks to the system as soon as they are freed, so that the
// test of peak memory measures TensorFlow's memory without the allocator's reserve.
process.env["MALLOC_MMAP_THRESHOLD_"] ??= String(2 ** 20);

// No other package has so many tests on TensorFlow: the second core would be idle.
export default suitePreset("tensorflow", { maxWorkers: 2 });
