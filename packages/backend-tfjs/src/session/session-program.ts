import type { AnyNode, Graph } from "@mp/graph";
import type { Place, Program as RunnableProgram } from "@mp/graph/backend";
import type { TfjsBinding } from "../load/index.js";
import { lowerProgram, type Program } from "../lowerings/program.js";
import { explainFailure } from "./engine-failure.js";
import { ProgramSet } from "./program-set.js";
import { empty, type Uploaded, wrapResult } from "./upload.js";

export interface SessionOptions {
  readonly binding: TfjsBinding;
  /** Whether a node is computed in f32 because the engine has no correct kernel for its half dtype. */
  readonly isWidened: (node: AnyNode) => boolean;
}

type Tensors = Readonly<Record<string, Uploaded>>;

/** A program in the session of its state, or in its own session. One engine call runs it and commits. */
export class SessionProgram implements RunnableProgram<Uploaded> {
  readonly #binding: TfjsBinding;
  readonly #graph: Graph;
  readonly #program: Program;
  readonly #programs: ProgramSet;
  readonly #hasState: boolean;

  constructor(graph: Graph, { bound, state }: Place<ProgramSet>, { binding, isWidened }: SessionOptions) {
    this.#binding = binding;
    this.#graph = graph;
    this.#hasState = state !== undefined;
    this.#programs = state ?? new ProgramSet(binding);
    this.#program = lowerProgram(graph, {
      scope: this.#programs.nextScope(),
      bound,
      handle: (slot) => this.#programs.handle(slot),
      isWidened,
    });
    this.#programs.add(this.#program);
  }

  async run(inputs: Tensors): Promise<Tensors> {
    const program = this.#program;
    const fed = program.inputs.flatMap(({ name }) => inputs[name]?.wire?.id ?? []);
    const ids = (await this.#fetch(fed)).values();
    const results = program.results.map(({ name, type, node }) => {
      const result =
        node === undefined ? empty(type) : wrapResult(this.#binding, type, ids.next().value as number);
      return [name, result] as const;
    });
    return Object.fromEntries(results);
  }

  dispose(isStateEnding: boolean): void {
    if (!this.#hasState) this.#programs.dispose();
    else if (!isStateEnding) this.#programs.remove(this.#program);
  }

  async #fetch(fed: readonly number[]): Promise<readonly number[]> {
    try {
      return await this.#programs.run(this.#program, fed);
    } catch (error) {
      throw explainFailure(error, this.#graph, (node) => this.#program.nodeOf(node));
    }
  }
}
