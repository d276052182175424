import type { CallbackAnswer, FitEpoch, FitPosition } from "@mp/core/fit";
import { invalid } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { type JsonNumber, toJson } from "../json-number.js";
import { isApplied, readScalars, type Scalars } from "../scalars.js";

/** Sum and count of the number at the current pass's applied steps; both stay 0 for a name `validation/…`. */
export interface MonitorState {
  readonly sum: JsonNumber;
  readonly count: number;
}

const VALIDATION = "validation/";

/**
 * Follows one number of a run. A number named `validation/…` has a value at each validation. Any other name is a number
 * of the steps, whose value at the end of each pass is the mean over the pass's applied steps.
 */
export class Monitor {
  readonly #owner: string;
  readonly #name: string;
  #sum = 0;
  #count = 0;

  /** @param owner begins error messages: `earlyStopping` */
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

  /** Makes hooks that call `onValue` with each value. */
  hooks(
    onValue: (value: number, at: FitEpoch) => CallbackAnswer,
  ): Pick<AnyCallback, "onStart" | "onStep" | "onValidation" | "onEpoch"> {
    const name = this.#name;
    if (!name.startsWith(VALIDATION)) {
      return {
        onStep: (step) => this.#add(step),
        onEpoch: (at) => {
          const [sum, count] = [this.#sum, this.#count];
          [this.#sum, this.#count] = [0, 0];
          return count === 0 ? undefined : onValue(sum / count, at);
        },
      };
    }
    return {
      onStart: ({ validates }) => {
        if (validates) return;
        throw invalid(
          `${this.#owner}: monitor is ${name}, and fit has no validation; give it validation: { data }, or monitor a number of the steps, such as loss`,
        );
      },
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

  #find(name: string, result: FitPosition | FitEpoch, prefix: string): number {
    const scalars: Scalars = readScalars(result);
    const value = Object.hasOwn(scalars, name) ? scalars[name] : undefined;
    if (value !== undefined) return value;
    const known = Object.keys(scalars).map((scalar) => `${prefix}${scalar}`);
    const meant = name.startsWith("val_") ? `; a validation has ${name.replace("val_", VALIDATION)}` : "";
    throw invalid(`${this.#owner}: monitor is ${this.#name}, and what exists is ${known.join(", ")}${meant}`);
  }
}
