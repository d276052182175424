import { MpError } from "@mp/graph";
import { NativeResource } from "@mp/graph/internal";
import type { OrtLibrary } from "./library.js";
import type { NativeSession } from "./session.js";
import type { NativeTensor } from "./tensor.js";

/**
 * The tensors of a session's inputs and outputs, bound once for many runs. A run copies and allocates
 * nothing. Runs of a binding must not overlap, because the engine does not lock it.
 */
export class NativeBinding extends NativeResource {
  readonly session: NativeSession;
  readonly #inputs = new Map<string, NativeTensor>();
  readonly #outputs = new Map<string, NativeTensor>();
  #inFlight: Promise<void> | undefined;
  /** Run options with the number of this binding's recording; null if the device records no commands. */
  readonly #capturing: bigint | null;

  constructor(session: NativeSession) {
    const { library, ledger } = session;
    const capturing = session.captures ? capturingOptions(library) : null;
    const handle = library.make("binding", (out) => library.functions.CreateIoBinding(session.handle, out));
    super("binding", handle, ledger);
    this.session = session;
    this.#capturing = capturing;
    session.countBinding(1);
  }

  /**
   * Binds or rebinds an input; the engine holds its own reference to the memory until the input is bound again.
   * @throws MP_INVALID_ARGUMENT for a name that the model does not have, or during a run
   */
  bindInput(name: string, tensor: NativeTensor): void {
    this.assertIdle();
    checkName("input", name, this.session.inputNames);
    const { functions, check } = this.session.library;
    check(functions.BindInput(this.handle, name, tensor.handle), `input ${name}`);
    this.#inputs.set(name, tensor);
  }

  /** @throws MP_INVALID_ARGUMENT for a name that the model does not have, or during a run */
  bindOutput(name: string, tensor: NativeTensor): void {
    this.assertIdle();
    checkName("output", name, this.session.outputNames);
    const { functions, check } = this.session.library;
    check(functions.BindOutput(this.handle, name, tensor.handle), `output ${name}`);
    this.#outputs.set(name, tensor);
  }

  get isRunning(): boolean {
    return this.#inFlight !== undefined;
  }

  /**
   * Runs on the calling thread and blocks it, without the cost of a dispatch.
   * @throws MP_BACKEND_FAILED or a more specific code when the engine fails; MP_DISPOSED for a released
   * tensor or session
   */
  runSync(runOptions: bigint | null = this.#capturing): void {
    this.#checkRunnable();
    const { functions, check } = this.session.library;
    check(functions.RunWithBinding(this.session.handle, runOptions, this.handle), "run");
  }

  /** Runs on a worker thread, which keeps the event loop free but costs two thread switches. */
  runAsync(runOptions: bigint | null = this.#capturing): Promise<void> {
    this.#checkRunnable();
    const { functions, settle } = this.session.library;
    const session = this.session.handle;
    this.#inFlight = settle("run", [], (done) =>
      functions.RunWithBinding.async(session, runOptions, this.handle, done),
    ).finally(() => {
      this.#inFlight = undefined;
    });
    return this.#inFlight;
  }

  override async whenIdle(): Promise<void> {
    await this.#inFlight?.catch(() => {});
  }

  #checkRunnable(): void {
    this.assertIdle();
    for (const tensor of this.#inputs.values()) tensor.assertUsable();
    for (const tensor of this.#outputs.values()) tensor.assertUsable();
  }

  protected override assertIdle(): void {
    if (this.#inFlight !== undefined) {
      throw new MpError("MP_INVALID_ARGUMENT", "binding: a run of it is in flight, wait for it first");
    }
  }

  protected free(handle: bigint): void {
    this.#inputs.clear();
    this.#outputs.clear();
    this.session.countBinding(-1);
    const { functions } = this.session.library;
    functions.ReleaseIoBinding(handle);
    if (this.#capturing !== null) functions.ReleaseRunOptions(this.#capturing);
  }
}

/** The run option that holds the number of a recording. */
const GRAPH_ID = "gpu_graph_id";
/** The value of `GRAPH_ID` that turns recording off for a run. */
const NO_GRAPH = "-1";

let recordings = 0;

function capturingOptions({ functions, check, make }: OrtLibrary): bigint {
  const options = make("run options", (out) => functions.CreateRunOptions(out));
  check(functions.AddRunConfigEntry(options, GRAPH_ID, String(++recordings)), "run options");
  return options;
}

/** Makes runs with these options compute node by node, without recording or replaying commands. */
export function withoutRecording({ functions, check }: OrtLibrary, runOptions: bigint): void {
  check(functions.AddRunConfigEntry(runOptions, GRAPH_ID, NO_GRAPH), "run options");
}

/** Refuses unknown names: the engine would store the name without a value, which breaks the binding. */
function checkName(kind: "input" | "output", name: string, known: ReadonlySet<string>): void {
  if (known.has(name)) return;
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `binding: the model has no ${kind} "${name}", it has ${[...known].join(", ") || "none"}`,
  );
}
