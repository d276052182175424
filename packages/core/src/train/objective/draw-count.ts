import { MpError, type State } from "@mp/graph";
import { LARGEST_COUNTER } from "../../precision/loss-scaler.js";
import { numberIn } from "../definition/outputs.js";

/** Ends a run before its count of microbatches leaves i32. */
export class DrawCount {
  readonly #state: Pick<State, "read">;
  /** At least what the state counts: a retry counts here, and not there. */
  #bound = 0;

  constructor(state: Pick<State, "read">) {
    this.#state = state;
  }

  /** The state may count anything now. */
  forget(): void {
    this.#bound = LARGEST_COUNTER;
  }

  /** @throws MP_OUT_OF_RANGE where a step of so many microbatches would count beyond 2^31 - 2 */
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
