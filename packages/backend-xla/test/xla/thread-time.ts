import koffi, { type KoffiFunc } from "koffi";

const THREAD_CPU_TIME = 3;
let clockGetTime: KoffiFunc<(clock: number, time: BigInt64Array) => number> | undefined;

/**
 * Milliseconds for which a processor has worked for this thread, whatever else the machine does. Not to be called
 * before a plugin is open, since koffi takes its settings before it loads the first library.
 */
export function threadMs(): number {
  clockGetTime ??= koffi.load("libc.so.6").func("int clock_gettime(int clock, void *time)");
  const time = new BigInt64Array(2);
  clockGetTime(THREAD_CPU_TIME, time);
  return Number(time[0]) * 1e3 + Number(time[1]) / 1e6;
}

/** The value that a share of the values is not above. */
export const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? Number.NaN;
