/** Two cores: one worker a package, since turbo already runs packages side by side. */
export const preset = (test = {}) => ({
  test: { include: ["src/**/*.test.ts", "test/**/*.test.ts"], maxWorkers: 1, testTimeout: 60_000, ...test },
});
