import { MpError } from "@mp/graph";
import { invalid, WorkQueue } from "@mp/graph/internal";

/** Runs the calls of a trainer or predictor one after another; each reads the state that the call before committed. */
export class CallQueue {
  readonly #owner: string;
  readonly #calls = new WorkQueue();
  #disposal: Promise<void> | undefined;
  #hook: string | undefined;

  /** @param owner the factory of the trainer or predictor, for messages */
  constructor(owner: string) {
    this.#owner = owner;
  }

  /** @throws MP_DISPOSED; MP_INVALID_ARGUMENT for a call made by a hook */
  expectOpen(): void {
    if (this.#hook !== undefined) throw callsItsTrainer(this.#hook);
    if (this.#disposal !== undefined)
      throw new MpError(
        "MP_DISPOSED",
        `the ${this.#owner} was disposed; build a new one with ${this.#owner}(...)`,
      );
  }

  /**
   * Runs the call once the earlier calls have settled.
   * @throws as `expectOpen`, and what the call throws
   */
  async add<T>(call: () => Promise<T>): Promise<T> {
    this.expectOpen();
    return this.#calls.push(call);
  }

  /** Waits for pending calls, then frees everything; idempotent. */
  close(free: () => Promise<void>): Promise<void> {
    if (this.#hook !== undefined) return Promise.reject(callsItsTrainer(this.#hook));
    this.#disposal ??= this.#calls.push(free);
    return this.#disposal;
  }

  /**
   * Wraps a user function that a call waits for. If the function calls the trainer before its first await, the trainer
   * rejects that call, since the two would wait for each other. Calls after the first await are not detected.
   */
  hook<A extends readonly unknown[], R>(name: string, run: (...given: A) => R): (...given: A) => R {
    return (...given) => {
      this.#hook = name;
      try {
        return run(...given);
      } finally {
        this.#hook = undefined;
      }
    };
  }
}

const callsItsTrainer = (hook: string): MpError<"MP_INVALID_ARGUMENT"> =>
  invalid(`${hook}: calls its own trainer, which waits for ${hook}; call it after the step`);
