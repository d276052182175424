/** Makes all calls, even if some throw, then throws the first error. */
export function callAll(calls: Iterable<() => void>): void {
  const failures: unknown[] = [];
  for (const call of calls) {
    try {
      call();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
