/**
 * ORT's environment: one per process and library, with one thread pool and one arena for all sessions.
 * Several thread pools would busy-wait against each other (46 ms per run instead of 22), and with separate
 * arenas each session would keep its own peak.
 */
import { MpError } from "@mp/graph";
import { ARENA_ALLOCATOR, DEFAULT_MEMORY } from "./allocator.js";
import { COPY_MODEL } from "./copy-model.js";
import type { OrtLibrary } from "./library.js";

export interface EnvironmentOptions {
  /** Threads that one operator may use, including the calling thread. Default: one per physical core. */
  readonly threads?: number;
  /** Whether idle threads busy-wait for work. Default true; set false when other work shares the processors. */
  readonly spinning?: boolean;
}

export interface Environment {
  readonly handle: bigint;
  /** The requested number of threads; 0 lets the library choose. */
  readonly threads: number;
  readonly spinning: boolean;
  /** False if other code had already created ORT's environment; each session then has its own threads. */
  readonly hasThreads: boolean;
  /** Releases this reference; releasing the last one frees the environment and its threads. */
  release(): void;
}

interface Shared extends Omit<Environment, "release"> {
  users: number;
}

const shared = new Map<OrtLibrary, Shared>();

/** Log level that keeps the library from writing to stderr, because the statuses of failures have the same text. */
const LOG_FATAL_ONLY = 4;

/**
 * Joins the process's environment, or creates it. Omitted options keep the values of an existing environment.
 * @throws MP_INVALID_ARGUMENT if the options differ from those of the environment in use
 */
export function acquireEnvironment(library: OrtLibrary, options: EnvironmentOptions = {}): Environment {
  checkThreads(options.threads);
  const existing = shared.get(library);
  const entry = existing ?? create(library, options.threads ?? 0, options.spinning ?? true);
  if (existing === undefined) shared.set(library, entry);
  else checkAgrees(existing, options);
  entry.users++;
  let isHeld = true;
  const { users: _, ...environment } = entry;
  return Object.freeze({
    ...environment,
    release: () => {
      if (!isHeld) throw new MpError("MP_DISPOSED", "environment: released twice");
      isHeld = false;
      entry.users--;
      if (entry.users > 0) return;
      shared.delete(library);
      library.functions.ReleaseEnv(entry.handle);
    },
  });
}

function checkThreads(threads: number | undefined): void {
  if (threads === undefined || (Number.isInteger(threads) && threads >= 0 && threads <= 1024)) return;
  throw new MpError("MP_INVALID_ARGUMENT", `threads: an integer of 0 … 1024 is needed, got ${threads}`);
}

function checkAgrees(existing: Shared, options: EnvironmentOptions): void {
  for (const name of ["threads", "spinning"] as const) {
    const wanted = options[name];
    if (wanted !== undefined && wanted !== existing[name]) {
      throw new MpError(
        "MP_INVALID_ARGUMENT",
        `${name}: a process has one pool of threads and this one runs with ${name} ${existing[name]}, got ${wanted}; leave it out, dispose of the other backends first, or use another process`,
        { details: { inUse: existing[name], asked: wanted } },
      );
    }
  }
}

function create(library: OrtLibrary, threads: number, spinning: boolean): Shared {
  const { functions, check, make, borrow } = library;
  const handle = borrow(
    "thread pool",
    (out) => functions.CreateThreadingOptions(out),
    functions.ReleaseThreadingOptions,
    (options) => {
      check(functions.SetGlobalIntraOpNumThreads(options, threads), "threads");
      check(functions.SetGlobalSpinControl(options, spinning ? 1 : 0), "spinning");
      return make("environment", (out) =>
        functions.CreateEnvWithGlobalThreadPools(LOG_FATAL_ONLY, "mp", options, out),
      );
    },
  );
  registerSharedArena(library, handle);
  return { handle, threads, spinning, hasThreads: hasGlobalThreads(library, handle), users: 0 };
}

const NO_LIMIT = 0;
/** The arena grows by powers of two; growth by requested sizes fragments (80 MB held where 47 suffice). */
const GROW_BY_POWERS = 0;
const ENGINE_DEFAULT = -1;

function registerSharedArena({ functions, check, make }: OrtLibrary, environment: bigint): void {
  const memory = make("arena", (out) => functions.CreateCpuMemoryInfo(ARENA_ALLOCATOR, DEFAULT_MEMORY, out));
  const settings = make("arena", (out) =>
    functions.CreateArenaCfg(NO_LIMIT, GROW_BY_POWERS, ENGINE_DEFAULT, ENGINE_DEFAULT, out),
  );
  try {
    check(functions.CreateAndRegisterAllocator(environment, memory, settings), "arena");
  } catch (error) {
    // The library keeps one environment per process, and another copy of this package may have created it.
    if (!(error instanceof MpError) || !/already/i.test(error.message)) throw error;
  } finally {
    functions.ReleaseArenaCfg(settings);
    functions.ReleaseMemoryInfo(memory);
  }
}

/**
 * Whether the environment has threads, tried with the smallest session. An environment that onnxruntime-node's own API
 * created earlier has none.
 */
function hasGlobalThreads({ functions, check, make, borrow }: OrtLibrary, environment: bigint): boolean {
  const create = (out: BigUint64Array): bigint | null => functions.CreateSessionOptions(out);
  try {
    borrow("session options", create, functions.ReleaseSessionOptions, (options) => {
      check(functions.DisablePerSessionThreads(options), "session options");
      const session = make("session", (out) =>
        functions.CreateSessionFromArray(environment, COPY_MODEL, COPY_MODEL.length, options, out),
      );
      functions.ReleaseSession(session);
    });
    return true;
  } catch (error) {
    if (error instanceof MpError && error.message.includes("CreateEnvWithGlobalThreadPools")) return false;
    throw error;
  }
}
