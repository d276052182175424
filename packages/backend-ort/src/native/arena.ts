import koffi from "koffi";
import { ARENA_ALLOCATOR, DEFAULT_MEMORY } from "./allocator.js";
import type { NativeSession } from "./session.js";

/** Counters of an arena, over all sessions that share it. Bound inputs and outputs are outside the arena. */
export interface ArenaStats {
  readonly bytesInUse: number;
  /** The most bytes that were in use at the same time. */
  readonly maxBytesInUse: number;
  /** Bytes that the arena took from the system and keeps. */
  readonly reservedBytes: number;
}

/** The counters of a session's arena; undefined if the session has no arena. */
export function arenaStats(session: NativeSession): ArenaStats | undefined {
  const entries = allocatorEntries(session);
  const count = (key: string) => Number(entries.get(key) ?? 0);
  if (!entries.has("MaxInUse")) return undefined;
  return {
    bytesInUse: count("InUse"),
    maxBytesInUse: count("MaxInUse"),
    reservedBytes: count("TotalAllocated"),
  };
}

function allocatorEntries(session: NativeSession): ReadonlyMap<string, string> {
  const { functions, borrow } = session.library;
  return borrow(
    "memory info",
    (out) => functions.CreateCpuMemoryInfo(ARENA_ALLOCATOR, DEFAULT_MEMORY, out),
    functions.ReleaseMemoryInfo,
    (info) =>
      borrow(
        "allocator",
        (out) => functions.CreateAllocator(session.handle, info, out),
        functions.ReleaseAllocator,
        (allocator) =>
          borrow(
            "memory statistics",
            (out) => functions.AllocatorGetStats(allocator, out),
            functions.ReleaseKeyValuePairs,
            (pairs) => readPairs(session, pairs),
          ),
      ),
  );
}

function readPairs(session: NativeSession, pairs: bigint): ReadonlyMap<string, string> {
  const [keys, values, count] = [new BigUint64Array(1), new BigUint64Array(1), new BigUint64Array(1)];
  session.library.functions.GetKeyValuePairs(pairs, keys, values, count);
  const strings = (list: bigint | undefined): string[] =>
    count[0] === 0n ? [] : (koffi.decode(list, "str", Number(count[0])) as string[]);
  const texts = strings(values[0]);
  return new Map(strings(keys[0]).map((key, index) => [key, texts[index] ?? ""]));
}
