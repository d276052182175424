import koffi from "koffi";
import { ARENA_ALLOCATOR, DEFAULT_MEMORY } from "./allocator.js";
import type { NativeSession } from "./session.js";

/**
 * Statistics of an arena; tensors bound as inputs and outputs are not in it. Those of a shared arena cover all its
 * sessions.
 */
export interface ArenaStats {
  readonly bytesInUse: number;
  /** Most bytes in use at once so far. */
  readonly maxBytesInUse: number;
  /** Taken from the system and kept. */
  readonly reservedBytes: number;
  readonly allocations: number;
}

/** Undefined when the session runs without an arena: then nothing is counted. */
export function arenaStats(session: NativeSession): ArenaStats | undefined {
  const entries = allocatorEntries(session);
  const numberOf = (key: string) => Number(entries.get(key) ?? 0);
  if (!entries.has("MaxInUse")) return undefined;
  return {
    bytesInUse: numberOf("InUse"),
    maxBytesInUse: numberOf("MaxInUse"),
    reservedBytes: numberOf("TotalAllocated"),
    allocations: numberOf("NumAllocs"),
  };
}

function allocatorEntries(session: NativeSession): ReadonlyMap<string, string> {
  const { functions, make } = session.library;
  const info = make("memory info", (out) =>
    functions.CreateCpuMemoryInfo(ARENA_ALLOCATOR, DEFAULT_MEMORY, out),
  );
  try {
    const allocator = make("allocator", (out) => functions.CreateAllocator(session.handle, info, out));
    try {
      const pairs = make("memory statistics", (out) => functions.AllocatorGetStats(allocator, out));
      const entries = readPairs(session, pairs);
      functions.ReleaseKeyValuePairs(pairs);
      return entries;
    } finally {
      functions.ReleaseAllocator(allocator);
    }
  } finally {
    functions.ReleaseMemoryInfo(info);
  }
}

function readPairs(session: NativeSession, pairs: bigint): ReadonlyMap<string, string> {
  const keys = new BigUint64Array(1);
  const values = new BigUint64Array(1);
  const count = new BigUint64Array(1);
  session.library.functions.GetKeyValuePairs(pairs, keys, values, count);
  const strings = (list: bigint | undefined): string[] =>
    count[0] === 0n ? [] : (koffi.decode(list, "str", Number(count[0])) as string[]);
  const texts = strings(values[0]);
  return new Map(strings(keys[0]).map((key, index) => [key, texts[index] ?? ""]));
}
