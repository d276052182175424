import type { Backend, BackendManifest } from "@mp/graph";
import type { RandomSource } from "./random-source.js";

/** Everything that a case may use besides the backend under test. */
export interface CaseContext {
  /** Names the case in messages. */
  readonly id: string;
  /** Creates one more backend with the factory under test; the runner disposes it when the case has ended. */
  readonly create: () => Promise<Backend>;
  /** Seed of the whole run; messages print it. */
  readonly seed: number;
  /** Gives the same numbers in every run of the same case and seed. */
  readonly random: RandomSource;
}

/**
 * One claim that every backend must satisfy, as data: it imports no test runner and knows a backend only by its
 * manifest. A function-typed property may be destructured; none of them reads `this`.
 */
export interface ConformanceCase {
  /** `group/feature/behaviour`: unique, stable, and states what must hold. */
  readonly id: string;
  /** The reason the manifest gives for not supporting what the case needs; undefined when it does. */
  readonly unsupported: (manifest: BackendManifest) => string | undefined | Promise<string | undefined>;
  /** Throws when the backend is wrong. */
  readonly run: (backend: Backend, context: CaseContext) => void | Promise<void>;
  /** For a backend whose manifest says unsupported: throws unless it refuses with MP_UNSUPPORTED. */
  readonly refuses: (backend: Backend, context: CaseContext) => void | Promise<void>;
}

const nothingToRefuse = (_backend: Backend, { id }: CaseContext): never => {
  throw new Error(`internal: ${id} holds for every backend, there is nothing to refuse`);
};

/** A claim about every backend, whatever its manifest says. */
export function universalCase(id: string, run: ConformanceCase["run"]): ConformanceCase {
  return { id, unsupported: () => undefined, run, refuses: nothingToRefuse };
}
