import { MpError } from "@mp/graph";
import { type Ledger, NativeResource } from "@mp/graph/internal";
import koffi from "koffi";
import type { Environment } from "./environment.js";
import { addExternalInitializers } from "./external-initializers.js";
import type { OrtLibrary } from "./library.js";
import type { NativeTensor } from "./tensor.js";

/** GraphOptimizationLevel by the names used here. */
const LEVELS = { none: 0, all: 99 } as const;

/** What a session requires of its device. */
export interface DeviceUse {
  /**
   * Whether to record the commands of a binding's first run and replay them later. Loading then fails unless every
   * node is on the device.
   */
  readonly capture?: boolean;
}

export interface SessionOptions extends DeviceUse {
  /**
   * ORT's own graph optimization. Default "none", as training requires, because the optimizer moves rounding points,
   * undoes recomputation and changes the order of nodes.
   */
  readonly optimization?: keyof typeof LEVELS;
  /**
   * Memory that is kept for intermediates between runs. Default "shared": one arena for all sessions of the process,
   * which keeps only the largest session's peak. "own" measures each session's peak; "none" returns memory to the
   * system after every use, which is slow and fragments.
   */
  readonly arena?: "shared" | "own" | "none";
  /**
   * Host tensors for initializers that the model declares without data, by name. The session reads them in place;
   * they must not change while it lives.
   */
  readonly initializers?: ReadonlyMap<string, NativeTensor>;
  /** ORT's session configuration entries, by their own keys. */
  readonly config?: Readonly<Record<string, string>>;
}

/** Adds an execution provider to session options under construction. */
export type ProviderAppender = (library: OrtLibrary, sessionOptions: bigint, use: DeviceUse) => void;

/** A loaded model. Runs go through bindings made for it, which must be released first. */
export class NativeSession extends NativeResource {
  readonly library: OrtLibrary;
  readonly ledger: Ledger;
  readonly inputNames: ReadonlySet<string>;
  readonly outputNames: ReadonlySet<string>;
  /** Whether each binding's commands are recorded, which implies that every node is on the device. */
  readonly captures: boolean;
  #bindings = 0;

  constructor(library: OrtLibrary, ledger: Ledger, handle: bigint, captures = false) {
    super("session", handle, ledger);
    this.library = library;
    this.ledger = ledger;
    this.captures = captures;
    const { SessionGetInputCount, SessionGetInputName, SessionGetOutputCount, SessionGetOutputName } =
      library.functions;
    this.inputNames = names(library, handle, SessionGetInputCount, SessionGetInputName);
    this.outputNames = names(library, handle, SessionGetOutputCount, SessionGetOutputName);
  }

  /** Counts bindings at creation and release, as freeing a session that still has a binding crashes the process. */
  countBinding(change: 1 | -1): void {
    this.#bindings += change;
  }

  protected override assertIdle(): void {
    if (this.#bindings === 0) return;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `session: ${this.#bindings} binding(s) of it are alive, release them first`,
    );
  }

  protected free(handle: bigint): void {
    this.library.functions.ReleaseSession(handle);
  }
}

type Counter = OrtLibrary["functions"]["SessionGetInputCount"];
type Namer = OrtLibrary["functions"]["SessionGetInputName"];

function names(library: OrtLibrary, session: bigint, count: Counter, read: Namer): ReadonlySet<string> {
  const { functions, check, make } = library;
  const allocator = make("allocator", (out) => functions.GetAllocatorWithDefaultOptions(out));
  const size = Number(make("session", (out) => count(session, out)));
  return new Set(
    Array.from({ length: size }, (_, index) => {
      const text = make("session", (out) => read(session, index, allocator, out));
      const name = koffi.decode.string(text);
      check(functions.AllocatorFree(allocator, text), "session");
      return name;
    }),
  );
}

export interface SessionParts {
  readonly library: OrtLibrary;
  readonly environment: Environment;
  readonly ledger: Ledger;
  readonly append?: ProviderAppender | undefined;
}

/**
 * Loads a model on a worker thread; 20 000 nodes take about half a second.
 * @throws MP_INVALID_ARGUMENT for bytes that are not a valid model
 * @throws MP_UNSUPPORTED if an operator has no kernel for the given types
 */
export async function createSession(
  parts: SessionParts,
  model: Uint8Array,
  options: SessionOptions = {},
): Promise<NativeSession> {
  const { library, environment, ledger } = parts;
  const sessionOptions = makeSessionOptions(parts, options);
  let freeInitializers: (() => void) | undefined;
  try {
    if (options.initializers !== undefined)
      freeInitializers = addExternalInitializers(library, sessionOptions, options.initializers);
    const handle = await load(library, environment, model, sessionOptions);
    return new NativeSession(library, ledger, handle, options.capture);
  } finally {
    library.functions.ReleaseSessionOptions(sessionOptions);
    freeInitializers?.();
  }
}

async function load(
  { functions, settle }: OrtLibrary,
  environment: Environment,
  model: Uint8Array,
  sessionOptions: bigint,
): Promise<bigint> {
  const out = new BigUint64Array(1);
  const { handle } = environment;
  await settle("session", [model, out], (done) =>
    functions.CreateSessionFromArray.async(handle, model, model.byteLength, sessionOptions, out, done),
  );
  return out[0] ?? 0n;
}

function makeSessionOptions(parts: SessionParts, options: SessionOptions): bigint {
  const { library } = parts;
  const { functions, check, make } = library;
  const handle = make("session options", (out) => functions.CreateSessionOptions(out));
  try {
    setThreads(parts, handle);
    const level = LEVELS[options.optimization ?? "none"];
    check(functions.SetSessionGraphOptimizationLevel(handle, level), "optimization");
    // With memory patterns, ORT would hold a block for all intermediates in addition to the arena's memory.
    check(functions.DisableMemPattern(handle), "memoryPattern");
    const arena = options.arena ?? "shared";
    if (arena === "none") check(functions.DisableCpuMemArena(handle), "arena");
    const config = { "session.use_env_allocators": arena === "shared" ? "1" : "0", ...options.config };
    for (const [key, value] of Object.entries(config)) {
      check(functions.AddSessionConfigEntry(handle, key, value), `config ${key}`);
    }
    parts.append?.(library, handle, options);
    return handle;
  } catch (error) {
    functions.ReleaseSessionOptions(handle);
    throw error;
  }
}

function setThreads({ library, environment }: SessionParts, sessionOptions: bigint): void {
  const { functions, check } = library;
  if (environment.hasThreads) {
    check(functions.DisablePerSessionThreads(sessionOptions), "threads");
    return;
  }
  check(functions.SetIntraOpNumThreads(sessionOptions, environment.threads), "threads");
  const spinning = environment.spinning ? "1" : "0";
  check(
    functions.AddSessionConfigEntry(sessionOptions, "session.intra_op.allow_spinning", spinning),
    "threads",
  );
}
