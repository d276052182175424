import { MpError, type Ranks } from "@mp/graph";
import { compareHeaders, type End, type Facts, type Header } from "./compare-headers.js";

/**
 * Compares what each rank of a run is about to do, and with which facts, before the ranks do anything together. If one
 * rank does something else, has failed or ends training, all ranks learn of that here, so no rank waits for it.
 */
export class Agreement {
  readonly ranks: Ranks;
  /** Errors that all ranks know of. */
  readonly #told = new Set<unknown>();
  #end: End | undefined;

  constructor(ranks: Ranks) {
    this.ranks = ranks;
  }

  /**
   * Makes a call that all ranks must make with the same facts. If `prepare` throws on one rank, all throw.
   * @throws MP_RANK_MISMATCH naming a rank that makes another call, has other facts, or failed
   */
  async enter(call: string, prepare: () => Facts | Promise<Facts>): Promise<void> {
    const end = await this.#exchange(call, prepare);
    if (end === undefined) return;
    throw this.#shared(new MpError("MP_RANK_MISMATCH", `${call}: another rank ended training (${end})`));
  }

  /** Runs `run` on all ranks, which wait for each other. @throws as `enter` */
  async all<T>(call: string, run: () => Promise<T>): Promise<T> {
    const values: T[] = [];
    await this.enter(call, async () => {
      values.push(await run());
      return {};
    });
    return values[0] as T;
  }

  /** Enters a step or a pass of `fit` or `steps`; false if a rank ends training instead. */
  async goesOn(call: string, prepare: () => Facts | Promise<Facts>): Promise<boolean> {
    this.#end = await this.#exchange(call, prepare);
    return this.#end === undefined;
  }

  /** Begins a new call of `fit` or `steps`. */
  begin(): void {
    this.#end = undefined;
  }

  /**
   * Agrees with the other ranks on why training ended: the reason of a rank that was stopped, else this rank's.
   * @throws MP_RANK_MISMATCH if another rank is still training
   */
  async endsBy(end: End): Promise<End> {
    // A rank that learned of an end in `goesOn` has exchanged its header there.
    this.#end ??= (await this.#meet({ call: "end", facts: { by: end } })) ?? end;
    return this.#end;
  }

  /** Tells the other ranks, at their next call, that this rank has failed; does nothing if they know already. */
  async tell(error: unknown): Promise<void> {
    if (this.#told.has(error)) return;
    this.#shared(error);
    const failed = error instanceof Error ? error.message : String(error);
    await this.#meet({ failed }).catch(() => undefined);
  }

  /** Runs `run` on this rank alone, and tells the other ranks if it throws. */
  async orTell<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      await this.tell(error);
      throw error;
    }
  }

  /** Marks an error that all ranks know of. */
  #shared<E>(error: E): E {
    this.#told.add(error);
    return error;
  }

  /** The error to throw after ranks failed in a collective operation: this rank's own, or a new one that names them. */
  failure(call: string, failing: readonly number[], own: { readonly error: unknown } | undefined): unknown {
    return this.#shared(
      own === undefined
        ? new MpError(
            "MP_RANK_MISMATCH",
            `${call}: failed on rank ${failing.join(", ")}; its own error says why`,
            {
              details: { ranks: failing },
            },
          )
        : own.error,
    );
  }

  async #exchange(call: string, prepare: () => Facts | Promise<Facts>): Promise<End | undefined> {
    return this.#meet({ call, facts: await this.orTell(async () => prepare()) });
  }

  /** @throws MP_RANK_MISMATCH on all ranks */
  async #meet(own: Header): Promise<End | undefined> {
    const all = await this.ranks.allGather(new TextEncoder().encode(JSON.stringify(own)));
    try {
      return compareHeaders(all.map((bytes) => new TextDecoder().decode(bytes)));
    } catch (error) {
      throw this.#shared(error);
    }
  }
}
