import { existsSync, readdirSync } from "node:fs";

const typeTests = ["src/**/*.test-d.ts", "test/**/*.test-d.ts"];
const hasTypeTests = ["src", "test"].some(
  (folder) =>
    existsSync(folder) &&
    readdirSync(folder, { recursive: true }).some((file) => String(file).endsWith(".test-d.ts")),
);

/**
 * Two cores: one worker per package, since turbo already runs packages in parallel. Type tests start the compiler, so
 * they are on only where there are any. `npm test` counts from the JSON report.
 */
export const preset = (/** @type {Record<string, unknown>} */ test = {}) => ({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    typecheck: { enabled: hasTypeTests, include: typeTests },
    reporters: ["default", "json"],
    outputFile: { json: ".results/test.json" },
    maxWorkers: 1,
    // For tests that hang, not for slow ones: the machine may be busy with other things.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    ...test,
  },
});
