import { existsSync, readdirSync } from "node:fs";

const typeTests = ["src/**/*.test-d.ts", "test/**/*.test-d.ts"];
const hasTypeTests = ["src", "test"].some(
  (folder) =>
    existsSync(folder) &&
    readdirSync(folder, { recursive: true }).some((file) => String(file).endsWith(".test-d.ts")),
);

/**
 * Two cores: one worker a package, since turbo already runs packages side by side. Type tests start the
 * compiler, so only where there are any. The JSON report is what `npm test` counts from.
 */
export const preset = (/** @type {Record<string, unknown>} */ test = {}) => ({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    typecheck: { enabled: hasTypeTests, include: typeTests },
    reporters: ["default", "json"],
    outputFile: { json: ".results/test.json" },
    maxWorkers: 1,
    testTimeout: 60_000,
    ...test,
  },
});
