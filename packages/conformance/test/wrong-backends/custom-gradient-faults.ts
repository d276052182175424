/** Engines that compute another gradient than the user's rule. */
import { type Backend, customGradient, type Graph, printGraph, type Tensor } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { customGradientChecks } from "../../src/training/cases/custom-gradient.js";
import { wrapped } from "./wrapped.js";
import type { WrongBackend } from "./wrong-backend.js";

type Custom = (fn: Function_, rule: Rule, options?: { readonly hasResiduals: true }) => Function_;
type Function_ = (...inputs: readonly Tensor[]) => unknown;
type Residuals = Readonly<Record<string, Tensor>>;
type Rule = (call: { readonly residuals: Residuals }, cotangents: unknown) => unknown;

/** The oracle, which runs each case's graph as another `customGradient` builds it. */
function replacing(custom: Custom): () => Promise<Backend> {
  let replaced: ReadonlyMap<string, Graph> | undefined;
  return async () => {
    const backend = await reference();
    const { manifest } = backend;
    replaced ??= new Map(
      customGradientChecks.map(({ graph }) => [
        printGraph(graph(manifest)),
        graph(manifest, custom as typeof customGradient),
      ]),
    );
    const graphs = replaced;
    return wrapped(backend, {
      compile: ({ graph }, right) => {
        const wrong = graphs.get(printGraph(graph));
        return wrong === undefined ? right() : backend.compile(wrong);
      },
    });
  };
}

const dropped: Custom = (fn, _, options) =>
  options === undefined ? fn : (...inputs) => (fn(...inputs) as unknown[])[0];

const swapped: Custom = (fn, rule, options) => {
  const exchanged: Rule = (call, cotangents) => {
    const names = Object.keys(call.residuals);
    const values = Object.values(call.residuals).toReversed();
    const residuals = Object.fromEntries(names.map((name, index) => [name, values[index] as Tensor]));
    return rule({ ...call, residuals }, cotangents);
  };
  const right = customGradient as unknown as Custom;
  return options === undefined ? right(fn, rule) : right(fn, exchanged, options);
};

const PLACES = ["alone", "remat", "scan", "remat-in-scan", "mixed-float16", "mixed-bfloat16"];
const inAllPlaces = (names: readonly string[]): readonly string[] =>
  names.flatMap((name) => PLACES.map((place) => `custom-gradient/${name}/${place}`));

export const customGradientFaults: readonly WrongBackend[] = [
  {
    fault: "the gradient of a function is used in place of the user's rule",
    factory: replacing(dropped),
    axes: ["custom-gradient"],
    named: [
      ...inAllPlaces(["reversal", "straight-through", "clipped", "e5m2", "of-the-result", "residuals"]),
      ...inAllPlaces(["two-results", "integer-input", "finite-at-0"]),
      "custom-gradient/of-the-result/scan-twice",
    ],
    // The rule of softplus is its derivative.
    consequences: [/^custom-gradient\/(?!softplus)[a-z0-9-]+\/[a-z0-9-]+-twice$/],
  },
  {
    fault: "two residuals of a user's rule are swapped",
    factory: replacing(swapped),
    axes: ["custom-gradient"],
    named: inAllPlaces(["residuals", "finite-at-0"]),
    consequences: [/^custom-gradient\/(residuals|finite-at-0)\/[a-z0-9-]+-twice$/],
  },
];
