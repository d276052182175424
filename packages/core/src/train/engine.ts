import type { Backend, BackendWarning, Executable, State } from "../backend.js";
import type { HostTensor } from "../host-tensor.js";
import type { Program } from "./program.js";

/** Compilations kept per trainer; the least recently used is disposed beyond this. */
const KEPT = 8;
const MANY_SHAPES = 3;

export interface Compiled {
  readonly executable: Executable;
  readonly outputs: Program["outputs"];
}

/** Compiled programs over one resident state, by kind and batch signature. Owns what it compiles. */
export class Engine {
  readonly backend: Backend;
  readonly state: State;
  readonly #compiled = new Map<string, Promise<Compiled>>();
  readonly #signatures = new Map<string, Set<string>>();
  readonly #warn: (warning: BackendWarning) => void;

  constructor(backend: Backend, state: State, warn: (warning: BackendWarning) => void) {
    this.backend = backend;
    this.state = state;
    this.#warn = warn;
  }

  /** The program of that kind for that batch signature, traced and compiled at its first use. */
  async compiled(kind: string, signature: string, build: () => Program): Promise<Compiled> {
    const id = `${kind} ${signature}`;
    const known = this.#compiled.get(id);
    if (known !== undefined) {
      this.#compiled.delete(id);
      this.#compiled.set(id, known);
      return known;
    }
    this.#countShapes(kind, signature);
    const compiled = Promise.resolve().then(() => this.#compile(build()));
    this.#compiled.set(id, compiled);
    compiled.catch(() => this.#compiled.delete(id));
    for (const warning of (await compiled).executable.warnings) this.#warn(warning);
    await this.#evict();
    return compiled;
  }

  async #compile({ graph, bindings, outputs }: Program): Promise<Compiled> {
    const applied = graph.outputs.some((output) => output.name === "applied") ? { applied: "applied" } : {};
    const executable = await this.backend.compile(graph, { state: this.state, bindings, ...applied });
    return { executable, outputs };
  }

  #countShapes(kind: string, signature: string): void {
    const seen = this.#signatures.get(kind) ?? new Set<string>();
    this.#signatures.set(kind, seen.add(signature));
    if (seen.size !== MANY_SHAPES) return;
    this.#warn({
      type: "performance",
      message: `${kind}: the ${MANY_SHAPES}rd distinct batch shape is being compiled (${signature}); pad or drop partial batches so that shapes repeat`,
    });
  }

  async #evict(): Promise<void> {
    while (this.#compiled.size > KEPT) {
      const [oldest] = this.#compiled.keys();
      if (oldest === undefined) return;
      const compiled = await this.#compiled.get(oldest);
      this.#compiled.delete(oldest);
      await compiled?.executable.dispose();
    }
  }

  async dispose(): Promise<void> {
    const all = [...this.#compiled.values()];
    this.#compiled.clear();
    for (const compiled of all) await (await compiled).executable.dispose();
    await this.state.dispose();
  }
}

/** Compiles, runs once and disposes: for programs that are needed a single time. */
export async function runOnce(
  backend: Backend,
  { graph, bindings }: Program,
  inputs: Readonly<Record<string, HostTensor>>,
  state?: State,
): Promise<Readonly<Record<string, HostTensor>>> {
  const executable = await backend.compile(graph, state === undefined ? {} : { state, bindings });
  try {
    return await executable.run(inputs);
  } finally {
    await executable.dispose();
  }
}
