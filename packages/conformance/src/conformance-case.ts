import type { Backend, BackendManifest } from "@mp/graph";
import type { RandomSource } from "./random-source.js";

/** Everything that a case may use besides the backend under test. */
export interface CaseContext {
  /** The case's id, for messages. */
  readonly id: string;
  /** Creates another backend with the factory under test; the runner disposes of it after the case. */
  readonly create: () => Promise<Backend>;
  /** Seed of the whole run; messages print it. */
  readonly seed: number;
  /** Returns the same numbers in every run of the same case and seed. */
  readonly random: RandomSource;
}

/**
 * One claim that every backend must satisfy, as data: it imports no test runner and knows a backend only by its
 * manifest. Its functions may be destructured, since none of them reads `this`.
 */
export interface ConformanceCase {
  /** `group/feature/behaviour`: unique and stable; it states what must hold. */
  readonly id: string;
  /** The manifest's reason for not supporting what the case needs; undefined if it is supported. */
  readonly unsupported: (manifest: BackendManifest) => string | undefined | Promise<string | undefined>;
  /** Throws if the backend is wrong. */
  readonly run: (backend: Backend, context: CaseContext) => void | Promise<void>;
  /** Throws unless a backend whose manifest calls the case unsupported refuses it with MP_UNSUPPORTED. */
  readonly refuses: (backend: Backend, context: CaseContext) => void | Promise<void>;
}

const nothingToRefuse = (_backend: Backend, { id }: CaseContext): never => {
  throw new Error(`internal: ${id} holds for every backend, there is nothing to refuse`);
};

/** A claim about every backend, whatever its manifest says. */
export function universalCase(id: string, run: ConformanceCase["run"]): ConformanceCase {
  return { id, unsupported: () => undefined, run, refuses: nothingToRefuse };
}
