/** Optimizers and what those of PyTorch, Keras and optax make of given gradients, by the cases of fixtures/more-optimizers.py. */
import { readFileSync } from "node:fs";
import * as optim from "../src/entries/optim.js";
import type { GradientTransformation, Optimizer } from "../src/optim/optimizer.js";
import type { Rows } from "./peer-optimizers.js";

const {
  adadelta,
  adafactor,
  adam,
  adamax,
  adamW,
  addDecayedWeights,
  chain,
  exponentialDecay,
  ftrl,
  lamb,
  lars,
  lion,
  momentum,
  nadam,
  radam,
  rmsProp,
} = optim;

interface Fixture {
  /** Six numbers of a matrix [2, 3], two of a vector, as in each row below. */
  readonly start: readonly number[];
  readonly gradients: Rows;
  /** After each step, by case. */
  readonly weights: Readonly<Record<string, Rows>>;
}

export const moreFixture: Fixture = JSON.parse(
  readFileSync(new URL("./fixtures/more-optimizers.json", import.meta.url), "utf8"),
) as Fixture;

const learningRate = 0.01;
const direction = (...parts: readonly GradientTransformation[]): Optimizer =>
  chain(...parts, optim.scaleByLearningRate(learningRate));

export const moreOptimizers: Readonly<Record<string, Optimizer>> = {
  adamAmsgrad: adam({ learningRate, amsgrad: true, beta2: 0.9 }),
  adamKeras: adam({ learningRate, epsilon: 1e-2, epsilonHat: true }),
  adamKerasAmsgrad: adam({ learningRate, epsilon: 1e-2, epsilonHat: true, amsgrad: true, beta2: 0.9 }),
  adamRoot: adam({ learningRate, epsilon: 1e-4, epsilonRoot: 1e-3 }),
  adamCorrectedAmsgrad: adam({ learningRate, amsgrad: "corrected", beta2: 0.9 }),
  adamCorrectedAmsgradRoot: adam({
    learningRate,
    amsgrad: "corrected",
    beta2: 0.9,
    epsilon: 1e-4,
    epsilonRoot: 1e-3,
  }),
  adamYogi: adam({ learningRate, secondMoment: "yogi", epsilon: 1e-3, initialAccumulator: 1e-6 }),
  adamYogiFast: adam({
    learningRate: 0.02,
    secondMoment: "yogi",
    beta1: 0.5,
    beta2: 0.9,
    epsilon: 1e-2,
    initialAccumulator: 1e-6,
  }),
  adamYogiStarted: direction(
    optim.scaleByAdam({ secondMoment: "yogi", epsilon: 1e-3, epsilonRoot: 1e-3, initialAccumulator: 0.1 }),
  ),
  adamBelief: adam({ learningRate, secondMoment: "belief", epsilon: 1e-16, epsilonRoot: 1e-16 }),
  adamBeliefFast: adam({
    learningRate: 0.02,
    secondMoment: "belief",
    beta1: 0.5,
    beta2: 0.9,
    epsilon: 1e-3,
    epsilonRoot: 1e-4,
  }),
  adamWBelief: adamW({
    learningRate,
    secondMoment: "belief",
    epsilon: 1e-16,
    epsilonRoot: 1e-16,
    weightDecay: 0.1,
  }),
  adamWAmsgrad: adamW({ learningRate, amsgrad: true, beta2: 0.9, weightDecay: 0.1 }),
  momentumDampened: momentum({ learningRate, dampening: 0.3 }),
  momentumDecayed: momentum({ learningRate, nesterov: true, weightDecay: 0.1 }),
  rmsPropCentered: rmsProp({ learningRate, decay: 0.9, epsilon: 1e-3, centered: true }),
  rmsPropMomentum: rmsProp({ learningRate, momentum: 0.8 }),
  rmsPropKeras: rmsProp({ learningRate, decay: 0.9, epsilon: 1e-4, epsilonInRoot: true }),
  rmsPropKerasAll: rmsProp({
    learningRate,
    decay: 0.9,
    epsilon: 1e-4,
    epsilonInRoot: true,
    momentum: 0.8,
    centered: true,
  }),
  adamax: adamax({ learningRate }),
  adamaxFast: adamax({ learningRate: 0.02, beta1: 0.5, beta2: 0.9, epsilon: 1e-3 }),
  adamaxKeras: adamax({ learningRate, epsilon: 1e-2, epsilonOutside: true }),
  nadam: nadam({ learningRate }),
  nadamFast: nadam({ learningRate: 0.02, beta1: 0.5, beta2: 0.9, epsilon: 1e-3, momentumDecay: 0.1 }),
  nadamKeras: nadam({ learningRate, epsilon: 1e-7, momentumDecay: 1 }),
  radam: radam({ learningRate }),
  radamFast: radam({ learningRate: 0.02, beta1: 0.5, beta2: 0.9, epsilon: 1e-3 }),
  radamNever: radam({ learningRate, beta2: 0.7 }),
  adadelta: adadelta(),
  adadeltaKeras: adadelta({ learningRate: 0.5, decay: 0.95, epsilon: 1e-4 }),
  adafactor: adafactor(),
  adafactorKeras: adafactor({ learningRate: 0.4, decayPower: 0.6, clipThreshold: 0.5 }),
  adafactorSteady: adafactor({ learningRate: 0.4, relativeStep: false }),
  adafactorPlain: adafactor({ relativeStep: false, scaleParameter: false, clipThreshold: false }),
  lamb: lamb({ learningRate }),
  lambKeras: lamb({ learningRate, epsilon: 1e-3, beta1: 0.5, beta2: 0.9 }),
  lambDecayed: lamb({ learningRate, weightDecay: 0.1 }),
  lars: lars({ learningRate: 0.5 }),
  larsDecayed: lars({
    learningRate: 0.5,
    weightDecay: 0.1,
    momentum: 0.8,
    nesterov: true,
    trustCoefficient: 0.01,
    epsilon: 1e-2,
  }),
  lion: lion({ learningRate }),
  lionKeras: lion({ learningRate, beta1: 0.8, beta2: 0.95, weightDecay: 0 }),
  ftrl: ftrl({ learningRate }),
  ftrlSparse: ftrl({ learningRate: 0.5, l1: 1 }),
  ftrlAll: ftrl({
    learningRate: 0.1,
    power: 0.7,
    initialAccumulator: 0.5,
    l1: 0.01,
    l2: 0.02,
    l2Shrinkage: 0.03,
    beta: 0.4,
  }),
  ftrlScheduled: ftrl({ learningRate: exponentialDecay(0.1, { decay: 0.5, every: 1 }) }),
  scaleByMomentum: direction(optim.scaleByMomentum({ nesterov: true })),
  scaleByAdam: direction(optim.scaleByAdam(), addDecayedWeights(0.1)),
  scaleByAdamax: direction(optim.scaleByAdamax({ epsilon: 1e-3 })),
  scaleByNadam: direction(optim.scaleByNadam(), addDecayedWeights(0.1)),
  scaleByRadam: direction(optim.scaleByRadam({ epsilon: 1e-12 })),
  scaleByRms: direction(optim.scaleByRms({ decay: 0.9, epsilon: 1e-4, epsilonInRoot: true })),
  scaleByStddev: direction(
    optim.scaleByRms({ decay: 0.9, epsilon: 1e-4, epsilonInRoot: true, centered: true }),
  ),
  scaleByRss: direction(optim.scaleByRss({ initialAccumulator: 0.1 })),
  scaleByAdadelta: direction(optim.scaleByAdadelta({ epsilon: 1e-4 })),
  scaleByLion: direction(optim.scaleByLion()),
  scaleByFactoredRms: direction(
    optim.scaleByFactoredRms(),
    optim.clipByBlockRms(0.5),
    optim.scaleByParameterRms(1e-2),
  ),
  scaleByTrustRatio: direction(optim.scaleByTrustRatio({ trustCoefficient: 0.5, epsilon: 1e-2 })),
  scaleBySchedule: direction(optim.scaleBySchedule(exponentialDecay(1, { decay: 0.5, every: 1 }))),
  weightDecay: direction(optim.weightDecay(0.1), optim.scaleByAdam()),
};

type Functions = {
  [K in keyof typeof optim]: (typeof optim)[K] extends (...given: never[]) => unknown ? K : never;
}[keyof typeof optim];

/** The source of a function's numbers: cases of this fixture, or of the first one, or elsewhere. */
type Covered = readonly string[] | { readonly first: readonly string[] } | { readonly elsewhere: string };

const scheduled: Covered = { elsewhere: "schedules.test.ts" };

/** A new export does not compile until it is listed. */
export const covered: Readonly<Record<Functions, Covered>> = {
  sgd: { first: ["sgd"] },
  adagrad: { first: ["adagrad", "adagradStarted"] },
  momentum: ["momentumDampened", "momentumDecayed"],
  adam: [
    "adamAmsgrad",
    "adamKeras",
    "adamKerasAmsgrad",
    "adamRoot",
    "adamCorrectedAmsgrad",
    "adamCorrectedAmsgradRoot",
    "adamYogi",
    "adamYogiFast",
    "adamYogiStarted",
    "adamBelief",
    "adamBeliefFast",
  ],
  adamW: ["adamWAmsgrad", "adamWBelief"],
  rmsProp: ["rmsPropCentered", "rmsPropMomentum", "rmsPropKeras", "rmsPropKerasAll"],
  adamax: ["adamax", "adamaxFast", "adamaxKeras"],
  nadam: ["nadam", "nadamFast", "nadamKeras"],
  radam: ["radam", "radamFast", "radamNever"],
  adadelta: ["adadelta", "adadeltaKeras"],
  adafactor: ["adafactor", "adafactorKeras", "adafactorSteady", "adafactorPlain"],
  lamb: ["lamb", "lambKeras", "lambDecayed"],
  lars: ["lars", "larsDecayed"],
  lion: ["lion", "lionKeras"],
  ftrl: ["ftrl", "ftrlSparse", "ftrlAll", "ftrlScheduled"],
  muon: { elsewhere: "muon.test.ts" },
  scaleByLearningRate: ["scaleByAdam"],
  scaleBySchedule: ["scaleBySchedule"],
  scaleByMomentum: ["scaleByMomentum"],
  scaleByAdam: ["scaleByAdam"],
  scaleByAdamax: ["scaleByAdamax"],
  scaleByNadam: ["scaleByNadam"],
  scaleByRadam: ["scaleByRadam"],
  scaleByRms: ["scaleByRms", "scaleByStddev"],
  scaleByRss: ["scaleByRss"],
  scaleByAdadelta: ["scaleByAdadelta"],
  scaleByLion: ["scaleByLion"],
  scaleByFactoredRms: ["scaleByFactoredRms"],
  scaleByTrustRatio: ["scaleByTrustRatio"],
  clipByBlockRms: ["scaleByFactoredRms"],
  scaleByParameterRms: ["scaleByFactoredRms"],
  weightDecay: ["weightDecay"],
  addDecayedWeights: ["scaleByAdam"],
  chain: ["scaleByAdam"],
  clipByGlobalNorm: { elsewhere: "clipByGlobalNorm of the first fixture" },
  globalNorm: { elsewhere: "clipByGlobalNorm of the first fixture" },
  clipByValue: { elsewhere: "optimizers.test.ts" },
  byPath: { elsewhere: "grouped of the first fixture" },
  biasesAndNorms: { elsewhere: "groups.test.ts" },
  settable: { elsewhere: "settable.test.ts" },
  warmup: scheduled,
  cosineDecay: scheduled,
  linearSchedule: scheduled,
  exponentialDecay: scheduled,
  polynomialDecay: scheduled,
  oneCycle: scheduled,
  warmRestarts: scheduled,
  cyclic: scheduled,
  piecewiseConstant: scheduled,
};
