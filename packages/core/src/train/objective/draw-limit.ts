import { MpError, type State } from "@mp/graph";
import { LARGEST_COUNTER } from "../../precision/loss-scaler.js";
import { numberIn } from "../definition/outputs.js";

/** Fails a step before the run's counter of microbatches overflows i32. */
export class DrawLimit {
  readonly #state: Pick<State, "read">;
  /** Upper bound of the state's counter; it also counts retries, which the state does not. */
  #bound = 0;

  constructor(state: Pick<State, "read">) {
    this.#state = state;
  }

  /** Drops the bound after the counter was replaced; the next `add` reads the counter. */
  forget(): void {
    this.#bound = LARGEST_COUNTER;
  }

  /** @throws MP_OUT_OF_RANGE if these microbatches would raise the counter above 2^31 - 2 */
  async add(microbatches: number): Promise<void> {
    if (this.#bound + microbatches > LARGEST_COUNTER)
      this.#bound = numberIn(await this.#state.read(["drawn"]), "drawn");
    if (this.#bound + microbatches > LARGEST_COUNTER) {
      throw new MpError(
        "MP_OUT_OF_RANGE",
        `step: a run must have at most ${LARGEST_COUNTER} microbatches, and has had ${this.#bound}; start another with its parameters`,
        { details: { drawn: this.#bound } },
      );
    }
    this.#bound += microbatches;
  }
}
