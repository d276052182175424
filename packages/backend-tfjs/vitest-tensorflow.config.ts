import { suitePreset } from "@mp/build/vitest";

// Read by glibc when a worker starts: large blocks go back to the system as soon as they are freed, so that the test of
// peak memory measures what TensorFlow holds and not what the allocator keeps for later.
process.env["MALLOC_MMAP_THRESHOLD_"] ??= String(2 ** 20);

// No other package has so many tests on TensorFlow: the second core would be idle.
export default suitePreset("tensorflow", { maxWorkers: 2 });
