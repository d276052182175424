/**
 * Ends the command with one line on stderr. Exit code 2 means a wrong command line, 1 a failure.
 * @param {string} message
 * @param {1 | 2} [exitCode]
 * @returns {never}
 */
export function fail(message, exitCode = 1) {
  console.error(message);
  process.exit(exitCode);
}
