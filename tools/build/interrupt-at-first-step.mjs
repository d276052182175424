// Preloaded by tests: the process interrupts itself, as Ctrl-C would, when it reports its first step. A signal from the
// test might come before that step, or after the last one.
const { write } = process.stderr;
process.stderr.write = /** @type {typeof write} */ (
  (/** @type {[string]} */ ...given) => {
    const isWritten = write.apply(process.stderr, given);
    if (String(given[0]).includes("step 1/")) process.kill(process.pid, "SIGINT");
    return isWritten;
  }
);
