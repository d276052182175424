import type { CallbackAnswer, FitEpoch, FitPosition, FitStart } from "@mp/core/fit";
import type { AnyCallback } from "../any-callback.js";
import { invalid } from "../invalid.js";
import { type JsonNumber, toJson } from "../json-number.js";
import { isApplied, type Scalars, scalarsOf } from "../scalars.js";

/** State that a monitor keeps between events: sums over the applied steps of the pass, for a training number. */
export interface MonitorState {
  readonly sum: JsonNumber;
  readonly count: number;
}

const VALIDATION = "validation/";

/**
 * One number of a run over time. `validation/loss` has a value at each validation; a name without `validation/` is a
 * number of the steps, and its value at the end of a pass is the mean over the pass's applied steps.
 */
export class Monitor {
  readonly #owner: string;
  readonly #name: string;
  #sum = 0;
  #count = 0;

  /** @param owner begins the messages: `earlyStopping` */
  constructor(owner: string, name: string) {
    this.#owner = owner;
    this.#name = name;
  }

  save(): { readonly [K in keyof MonitorState]: MonitorState[K] } {
    return { sum: toJson(this.#sum), count: this.#count };
  }

  load({ sum, count }: MonitorState): void {
    this.#sum = Number(sum);
    this.#count = count;
  }

  /** Calls `onValue` with each value. */
  following(
    onValue: (value: number, at: FitEpoch) => CallbackAnswer,
  ): Pick<AnyCallback, "onStart" | "onStep" | "onValidation" | "onEpoch"> {
    const name = this.#name;
    if (!name.startsWith(VALIDATION)) {
      return { onStep: (step) => this.#add(step), onEpoch: (at) => this.#atEpoch(at, onValue) };
    }
    return {
      onStart: (start) => this.#expectValidation(start),
      onValidation: (result) =>
        onValue(this.#find(name.slice(VALIDATION.length), result, VALIDATION), result),
    };
  }

  #add(step: FitPosition): void {
    const value = this.#find(this.#name, step, "");
    if (!isApplied(step)) return;
    this.#sum += value;
    this.#count++;
  }

  #atEpoch(at: FitEpoch, onValue: (value: number, at: FitEpoch) => CallbackAnswer): CallbackAnswer {
    const [sum, count] = [this.#sum, this.#count];
    this.#sum = 0;
    this.#count = 0;
    return count === 0 ? undefined : onValue(sum / count, at);
  }

  #expectValidation({ validates }: FitStart): void {
    if (validates) return;
    throw invalid(
      `${this.#owner}: monitor is ${this.#name}, and fit has no validation; give it validation: { data }, or monitor a number of the steps, such as loss`,
    );
  }

  #find(name: string, result: FitPosition | FitEpoch, prefix: string): number {
    const scalars: Scalars = scalarsOf(result);
    const value = Object.hasOwn(scalars, name) ? scalars[name] : undefined;
    if (value !== undefined) return value;
    const known = Object.keys(scalars).map((scalar) => `${prefix}${scalar}`);
    throw invalid(`${this.#owner}: monitor is ${this.#name}, and what exists is ${known.join(", ")}`);
  }
}
