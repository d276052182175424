import type { Backend, Executable, HostTensor, RunInput, State } from "@mp/graph";
import { sumWarnings } from "../../cast/widen-sums.js";
import type { Adopt } from "../batch/batch.js";
import { withCheckedIndices } from "../batch/index-ranges.js";
import type { Program } from "../definition/traced-program.js";
import type { TrainingWarning } from "../definition/warning.js";
import { graphFor } from "./graph-for.js";

/** Default number of programs that are kept. */
export const KEPT_PROGRAMS = 8;
const MANY_SHAPES = 3;

export interface Compiled extends Omit<Program, "bindings"> {
  readonly executable: Executable;
}

/** Compiled programs over one resident state, by kind and batch signature; owns and disposes of them. */
export class CompiledPrograms {
  readonly backend: Backend;
  readonly state: State;
  readonly #compiled = new Map<string, Compiled>();
  readonly #signatures = new Map<string, Set<string>>();
  #latest = "";
  readonly #kept: number;
  readonly #warn: (warning: TrainingWarning) => void;
  /** The backend's conversion of batch leaves that are not tensors of @mp/core. */
  readonly adopt: Adopt | undefined;

  /** @param kept number of programs to keep; beyond it the least recently used one is disposed of */
  constructor(backend: Backend, state: State, kept: number, warn: (warning: TrainingWarning) => void) {
    this.#kept = kept;
    this.backend = backend;
    this.state = state;
    this.#warn = warn;
    this.adopt = backend.adopt?.bind(backend);
  }

  /** The program for a kind and batch signature; undefined before its first use. */
  find(kind: string, signature: string): Compiled | undefined {
    const id = `${kind} ${signature}`;
    const known = this.#compiled.get(id);
    // Moving the entry at every step would leave a trail of dead hash tables in the heap.
    if (known !== undefined && id !== this.#latest) {
      this.#compiled.delete(id);
      this.#compiled.set(id, known);
      this.#latest = id;
    }
    return known;
  }

  /** The program for a kind and batch signature, traced and compiled at its first use. Await each call. */
  async findOrCompile(kind: string, signature: string, build: () => Program): Promise<Compiled> {
    return this.find(kind, signature) ?? (await this.#compile(kind, signature, build()));
  }

  async #compile(kind: string, signature: string, program: Program): Promise<Compiled> {
    const { bindings, ...rest } = program;
    const { graph } = program;
    const applied = graph.outputs.some((output) => output.name === "applied") ? { applied: "applied" } : {};
    const { backend } = this;
    const executable = await backend.compile(graphFor(graph, backend.manifest), {
      state: this.state,
      bindings,
      ...applied,
    });
    const compiled = { executable: withCheckedIndices(executable, graph), ...rest };
    this.#latest = `${kind} ${signature}`;
    this.#compiled.set(this.#latest, compiled);
    this.#countShapes(kind, signature);
    const warnings = [...executable.warnings, ...sumWarnings(backend.name, backend.manifest, graph)];
    for (const warning of warnings) this.#warn(warning);
    await this.#evict();
    return compiled;
  }

  #countShapes(kind: string, signature: string): void {
    const seen = this.#signatures.get(kind) ?? new Set<string>();
    // A disposed program that is compiled again adds no shape.
    if (seen.has(signature)) return;
    this.#signatures.set(kind, seen.add(signature));
    if (seen.size !== MANY_SHAPES) return;
    this.#warn({
      type: "performance",
      message: `${kind}: a third distinct batch shape has been compiled (${signature}); pad partial batches, or in training drop them, so that shapes repeat, ${this.#kept} programs are kept`,
    });
  }

  async #evict(): Promise<void> {
    for (const [id, { executable }] of this.#compiled) {
      if (this.#compiled.size <= this.#kept) return;
      this.#warn(evictionWarning(this.#kept));
      this.#compiled.delete(id);
      await executable.dispose();
    }
  }

  /** The largest peak of a program in bytes, without programs that diagnose; undefined if the engine reports none. */
  peakBytes(): number | undefined {
    const programs = [...this.#compiled.values()].filter(({ probes }) => probes === undefined);
    const reports = programs.flatMap(({ executable }) => executable.memory?.() ?? []);
    return reports.length === 0 ? undefined : Math.max(...reports.map(({ peakBytes }) => peakBytes));
  }

  /** Frees all programs even if some fail to; the first failure is reported. */
  async dispose(): Promise<void> {
    const executables = [...this.#compiled.values()].map(({ executable }) => executable.dispose());
    this.#compiled.clear();
    const settled = await Promise.allSettled(executables);
    await this.state.dispose();
    for (const result of settled) if (result.status === "rejected") throw result.reason;
  }
}

/** Warns that a program was disposed of, always in the same words, so that the warning is given once. */
const evictionWarning = (kept: number): TrainingWarning => ({
  type: "performance",
  message: `more than ${kept} programs have been compiled, so the least recently used was disposed and is compiled again at its next use; let batch shapes repeat; a trainer keeps more with its option programs`,
  details: { kept },
});

/** Compiles a program, uses it and disposes of it. */
export async function withCompiled<T>(
  { backend, state }: { readonly backend: Backend; readonly state?: State },
  { bindings, ...rest }: Program,
  use: (compiled: Compiled) => Promise<T>,
): Promise<T> {
  const options = state === undefined ? {} : { state, bindings };
  const executable = await backend.compile(graphFor(rest.graph, backend.manifest), options);
  try {
    return await use({ executable, ...rest });
  } finally {
    await executable.dispose();
  }
}

/** Compiles a program, runs it once and disposes of it. */
export const runOnce = (
  backend: Backend,
  program: Program,
  inputs: Readonly<Record<string, RunInput>>,
  state?: State,
): Promise<Readonly<Record<string, HostTensor>>> =>
  withCompiled({ backend, ...(state === undefined ? {} : { state }) }, program, ({ executable }) =>
    executable.run(inputs),
  );
