import { preset } from "@mp/build/vitest";

// The longest tests of all packages, at whose end the second core would be idle: two files at a time.
export default preset({ maxWorkers: 2 });
