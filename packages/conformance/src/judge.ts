import { type Backend, MpError } from "@mp/graph";
import type { CaseContext, ConformanceCase } from "./conformance-case.js";
import { ConformanceFailure } from "./expectations.js";
import { findFault, type KnownFailures } from "./known-failures.js";
import { randomSource } from "./random-source.js";
import type { Outcome } from "./report.js";

export type Factory = () => Backend | Promise<Backend>;

export interface JudgeOptions {
  readonly factory: Factory;
  readonly knownFailures: KnownFailures;
  readonly seed: number;
  /** Time after which a case fails. */
  readonly timeoutMs: number;
}

/**
 * Runs cases one by one on one backend, and on a new one after each failure, so that a fault does not cause other
 * failures. After each case the backend must hold as many objects and bytes as before.
 */
export class Judge {
  readonly #options: JudgeOptions;
  #backend: Backend | undefined;

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  /** The backend for the next case. */
  async backend(): Promise<Backend> {
    this.#backend ??= await this.#options.factory();
    return this.#backend;
  }

  async judge(subject: ConformanceCase): Promise<Outcome> {
    const started = performance.now();
    let reason: string | undefined;
    let failure: unknown;
    try {
      const backend = await this.backend();
      reason = await subject.unsupported(backend.manifest);
      await this.#limited(subject.id, this.#run(subject, backend, reason));
    } catch (error) {
      failure = error ?? new Error("nothing was thrown");
      await this.dispose();
    }
    return this.#outcome(subject.id, reason, failure, performance.now() - started);
  }

  /** Disposes of the backend; ignores errors, so it may be called after a failure. */
  async dispose(): Promise<void> {
    const backend = this.#backend;
    this.#backend = undefined;
    try {
      await backend?.dispose();
    } catch {
      // The backend has already failed a case, which is reported.
    }
  }

  async #run(subject: ConformanceCase, backend: Backend, reason: string | undefined): Promise<void> {
    const { factory, seed } = this.#options;
    const { id } = subject;
    const created: Backend[] = [];
    const create = async (): Promise<Backend> => {
      const another = await factory();
      created.push(another);
      return another;
    };
    const context: CaseContext = { id, seed, create, random: randomSource(seed, id) };
    const before = backend.stats();
    try {
      await (reason === undefined ? subject.run : subject.refuses)(backend, context);
    } finally {
      for (const another of created) await another.dispose();
    }
    const after = backend.stats();
    if (after.live !== before.live || after.bytes !== before.bytes) {
      throw new ConformanceFailure(
        `leak: ${after.live} live things of ${after.bytes} bytes, there were ${before.live} of ${before.bytes}`,
      );
    }
  }

  async #limited(id: string, run: Promise<void>): Promise<void> {
    const { timeoutMs } = this.#options;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<never>((_, reject) => {
      const late = new ConformanceFailure(`${id} is not done after ${timeoutMs} ms`);
      timer = setTimeout(() => reject(late), timeoutMs);
    });
    try {
      await Promise.race([run, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  #outcome(id: string, reason: string | undefined, failure: unknown, milliseconds: number): Outcome {
    const known = this.#options.knownFailures[id];
    const message = failure === undefined ? undefined : formatError(failure);
    if (known === undefined) {
      if (message !== undefined) return { id, status: "failed", detail: message, milliseconds };
      if (reason !== undefined) return { id, status: "refused", detail: reason, milliseconds };
      return { id, status: "passed", detail: "", milliseconds };
    }
    const fault = findFault(known, message, reason);
    if (fault !== undefined) return { id, status: "failed", detail: fault, milliseconds };
    return { id, status: "known-failure", detail: known.reason, milliseconds };
  }
}

function formatError(error: unknown): string {
  if (error instanceof ConformanceFailure) return error.message;
  if (MpError.is(error)) return `${error.code}: ${error.message}`;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
