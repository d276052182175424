import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { members, root } from "./packages.mjs";
import { turbo } from "./turbo.mjs";

/**
 * Reads counts from vitest's JSON report. A package without a report, or whose files did not load, has failed, and so
 * has a test that was not run: nothing may be skipped.
 * @param {string} path of the package
 * @param {string} report
 */
function readCount(path, report) {
  try {
    const { success, testResults, ...counts } = JSON.parse(readFileSync(report, "utf8"));
    const brokenFiles = testResults.filter(
      (/** @type {{ status: string; assertionResults: unknown[] }} */ file) =>
        file.status === "failed" && file.assertionResults.length === 0,
    ).length;
    const skipped = counts.numPendingTests + counts.numTodoTests;
    if (skipped > 0) console.error(`${path}: ${skipped} tests were skipped, which counts as failed`);
    const passed = counts.numPassedTests;
    const failed = counts.numFailedTests + brokenFiles + skipped;
    return { passed, failed: failed === 0 && !success ? 1 : failed };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

/**
 * Runs a task of turbo in every package that has a script of that name. The script writes `.results/<task>.json`, with a
 * hyphen for a colon in the task's name.
 * @param {string} task
 * @param {Record<string, string>} [variables] of its environment, besides those of every command
 */
export function testPackages(task, variables = {}) {
  const tested = members().filter(({ manifest }) => manifest.scripts?.[task] !== undefined);
  const reportFile = (/** @type {string} */ path) =>
    join(root, path, ".results", `${task.replace(":", "-")}.json`);
  for (const { path } of tested) rmSync(reportFile(path), { force: true });
  const succeeded = turbo([task], { keepGoing: true, variables });
  const counts = tested.map(({ path }) => readCount(path, reportFile(path)));
  const passed = counts.reduce((sum, count) => sum + count.passed, 0);
  const failed = counts.reduce((sum, count) => sum + count.failed, 0);
  return { passed, failed: failed === 0 && !succeeded ? 1 : failed };
}
