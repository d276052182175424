/** Makes all of the calls, then throws what the first of those that failed threw. */
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
