import type { DType, Shape } from "@mp/core";
import { DTYPES, isFloat } from "@mp/core/graph";
import { generated, hostData, specialValues } from "../../host-data.js";
import { scattered } from "../axes/axis-row.js";
import { sample } from "../op-sample.js";
import { type OptionRows, setting } from "./setting.js";

const INFINITE = Number.POSITIVE_INFINITY;

/** Eighths from -5 to 5. */
const ramp = (dtype: DType) => generated(dtype, [81], (at) => at / 8 - 5);

/** Without a limit where there is none, of one sign, equal, infinite. */
const limits = (dtype: DType) =>
  isFloat(dtype)
    ? { min: [undefined, -2, 0, 1, -INFINITE, INFINITE], max: [undefined, 3, 1, 0, INFINITE, -INFINITE] }
    : { min: [undefined, 2, 0, 1], max: [undefined, 3, 2, 0] };

export const elementwiseOptions: OptionRows<"LeakyRelu" | "Elu" | "Gelu" | "Clip" | "Cast"> = {
  LeakyRelu: {
    settings: (dtype) => [
      setting("LeakyRelu", { alpha: [0.01, 0, 1, -0.5, 2, 0.3] }, {}, (attributes) =>
        sample(attributes, ramp(dtype)),
      ),
    ],
  },
  Elu: {
    settings: (dtype) => [
      setting("Elu", { alpha: [1, 0, -1, 0.5, 2] }, {}, (attributes) => sample(attributes, ramp(dtype))),
    ],
  },
  Gelu: {
    settings: (dtype) => [
      setting("Gelu", { approximate: ["none", "tanh"] }, {}, (attributes) => sample(attributes, ramp(dtype))),
    ],
  },
  Clip: {
    settings: (dtype) => [
      setting("Clip", limits(dtype), {}, (attributes) => {
        const { min = -INFINITE, max = INFINITE } = attributes;
        if (min > max) return undefined;
        const numbers = isFloat(dtype)
          ? [...specialValues(dtype), -2.5, 1.25]
          : [0, 1, 2, 3, 4, 5, dtype.startsWith("u") ? 6 : -1];
        return sample(attributes, hostData(dtype, numbers));
      }),
    ],
  },
  Cast: {
    settings: (dtype) => [
      setting("Cast", { to: DTYPES }, {}, (attributes, _, random) => {
        const narrow = (one: DType): boolean => one === "f8e4m3" || one === "f8e5m2";
        const { to } = attributes;
        if ((narrow(dtype) && !isFloat(to)) || (narrow(to) && !isFloat(dtype))) return undefined;
        // Inside the range of every dtype.
        const shape: Shape = [3, 2, 4];
        return sample(
          attributes,
          isFloat(dtype)
            ? generated(dtype, shape, () => random.between(0, 200))
            : scattered({ ...random, integer: () => random.integer(0, 1) }, dtype, shape),
        );
      }),
    ],
  },
};
