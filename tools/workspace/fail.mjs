/**
 * Ends the command with one line on stderr. Exit code 2 is "asked for wrongly", 1 is "tried and failed".
 * @param {string} message
 * @param {1 | 2} [exitCode]
 * @returns {never}
 */
export function fail(message, exitCode = 1) {
  console.error(message);
  process.exit(exitCode);
}
