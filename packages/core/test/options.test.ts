import { describe, expect, it } from "vitest";
import { checkOptions } from "../../graph/src/options.js";
import { adagrad } from "../src/optim/adagrad.js";
import { adam, adamW } from "../src/optim/adam.js";
import { rmsProp } from "../src/optim/rms-prop.js";
import { cosineDecay } from "../src/optim/schedules/cosine-decay.js";
import { exponentialDecay } from "../src/optim/schedules/exponential-decay.js";
import { momentum, sgd } from "../src/optim/sgd.js";
import { dynamicLossScale, staticLossScale } from "../src/precision/loss-scaler.js";

interface Options {
  readonly batch?: number;
  readonly learningRate?: number;
}
const known = { batch: true, learningRate: true } as const;
const check = (options: object): void => checkOptions<Options>("make", options, known, "{ batch: 4 }");

/** Types options as loosely as JavaScript does. */
const loose = <T>(options: object): T => options as T;

describe("checkOptions", () => {
  it("lets known names and undefined ones through", () => {
    check({});
    check({ batch: 3, learningRate: undefined });
    check({ speed: undefined });
  });

  it("names the option that is likely meant", () => {
    expect(() => check({ lr: 1 })).toThrow('make: has no option "lr"; did you mean learningRate?');
    expect(() => check({ batchSize: 1 })).toThrow("did you mean batch?");
    expect(() => check({ batsh: 1 })).toThrow("did you mean batch?");
    expect(() => check({ LearningRate: 1 })).toThrow("did you mean learningRate?");
  });

  it("lists what there is where none is near", () => {
    expect(() => check({ speed: 1 })).toThrow('make: has no option "speed"; takes batch, learningRate');
  });

  it("refuses what is no object", () => {
    for (const wrong of ["adam", 3, null, undefined, [1]]) {
      expect(() => check(wrong as unknown as object)).toThrow(
        "make: takes options such as { batch: 4 }, got",
      );
    }
    expect(() => check("adam" as unknown as object)).toThrow('got "adam"');
  });
});

describe("options that nothing would read are refused by", () => {
  it.each<[string, () => unknown]>([
    [
      'sgd: has no option "momentum"; use momentum({ learningRate, momentum })',
      () => sgd(loose({ learningRate: 1, momentum: 0.9 })),
    ],
    [
      'adamW: has no option "betas"; did you mean beta1 and beta2?',
      () => adamW(loose({ learningRate: 1, betas: [0, 0] })),
    ],
    ['adamW: has no option "lr"; did you mean learningRate?', () => adamW(loose({ lr: 0.1 }))],
    [
      'adam: has no option "weightDecay"; use adamW({ learningRate, weightDecay }), or chain(weightDecay',
      () => adam(loose({ learningRate: 1, weightDecay: 1 })),
    ],
    [
      'adagrad: has no option "eps"; did you mean epsilon?',
      () => adagrad(loose({ learningRate: 1, eps: 1 })),
    ],
    [
      'rmsProp: has no option "alpha"; did you mean decay?',
      () => rmsProp(loose({ learningRate: 1, alpha: 1 })),
    ],
    ['momentum: has no option "beta"', () => momentum(loose({ learningRate: 1, beta: 1 }))],
    ['cosineDecay: has no option "step"; did you mean steps?', () => cosineDecay(1, loose({ step: 4 }))],
    ['exponentialDecay: has no option "rate"', () => exponentialDecay(1, loose({ rate: 1 }))],
    [
      'dynamicLossScale: has no option "initScale"; did you mean initialScale?',
      () => dynamicLossScale(loose({ initScale: 4 })),
    ],
  ])("%s", (message, make) => {
    expect(make).toThrow(message);
  });

  it("shows a text as one", () => {
    expect(() => adamW(loose({ learningRate: "0.1" }))).toThrow('got "0.1"');
    expect(() => staticLossScale(loose("8" as unknown as object))).toThrow('got "8"');
  });
});
