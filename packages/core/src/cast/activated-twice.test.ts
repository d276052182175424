import { type Graph, scope, type Tensor } from "@mp/graph";
import {
  add,
  cast,
  log,
  logSoftmax,
  matMul,
  mul,
  neg,
  reduceMean,
  reshape,
  sigmoid,
  softmax,
  softmaxCrossEntropyLoss,
  softplus,
  sub,
  transpose,
  unsqueeze,
} from "@mp/graph/ops";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { graphOf, labels } from "../../../graph/test/traced-nets.js";
import { lintCasts } from "./lint.js";
import { float32Policy, mixedFloat16Policy } from "./policy.js";

const found = (graph: Graph): readonly string[] =>
  lintCasts(graph, mixedFloat16Policy)
    .filter(({ rule }) => rule === "activated-twice")
    .map(({ node }) => node);

/** Traces `body` on four rows of four classes, where a wrong axis has the right size too. */
const with4 = (body: (x: Tensor, y: Tensor, w: Tensor) => Tensor): Graph =>
  graphOf({ w: [4, 4] }, { x: [4, 4], y: labels(4) }, ({ x, y, w }) => body(matMul(x, w), y, w));

const entropies: readonly ((scores: Tensor, y: Tensor) => Tensor)[] = [
  (scores, y) => softmaxCrossEntropyLoss(scores, y),
  (scores) => neg(reduceMean(logSoftmax(scores))),
];
/** Casts and moves after which the classes of a row are still along one axis. */
const keeping: readonly ((x: Tensor) => Tensor)[] = [
  (x) => cast(x, "f16"),
  (x) => cast(x, "f32"),
  (x) => reshape(x, [2, 2, 4]),
  (x) => unsqueeze(x, [0]),
  (x) => transpose(reshape(x, [2, 2, 4]), [1, 0, 2]),
  (x) => transpose(transpose(reshape(x, [4, 4]), [1, 0]), [1, 0]),
];
/** Operations whose result is no longer a distribution over the classes. */
const changing: readonly ((x: Tensor) => Tensor)[] = [
  (x) => mul(x, 2),
  (x) => log(x),
  (x) => add(x, x),
  (x) => transpose(reshape(x, [4, 4]), [1, 0]),
  (x) => matMul(reshape(x, [4, 4]), reshape(x, [4, 4])),
  (x) => sub(x, reduceMean(x)),
];
const rows = (x: Tensor): Tensor => reshape(x, [4, 4]);
const apply = (x: Tensor, moves: readonly ((x: Tensor) => Tensor)[]): Tensor =>
  moves.reduce((y, move) => move(y), x);

describe("a softmax before a cross entropy", () => {
  it("is warned of behind any casts and moves, once", () => {
    const moves = fc.array(fc.constantFrom(...keeping), { maxLength: 4 });
    fc.assert(
      fc.property(moves, fc.constantFrom(...entropies), (between, entropy) => {
        const graph = with4((x, y) => entropy(rows(apply(softmax(x), between)), y));
        expect(found(graph)).toEqual(["Softmax"]);
      }),
    );
  });

  it("is none where anything is computed between, or the axis is another", () => {
    const any = fc.array(fc.constantFrom(...keeping), { maxLength: 2 });
    fc.assert(
      fc.property(any, any, fc.constantFrom(...changing), (before, after, change) => {
        for (const entropy of entropies) {
          const graph = with4((x, y) => entropy(rows(apply(change(apply(softmax(x), before)), after)), y));
          expect(found(graph)).toEqual([]);
        }
      }),
    );
    expect(found(with4((x, y) => softmaxCrossEntropyLoss(softmax(x, 0), y)))).toEqual([]);
  });

  it("is none in attention, in a gate, in a distillation and behind a metric", () => {
    const graph = with4((x, y, w) => {
      const attended = matMul(softmax(matMul(x, transpose(x, [1, 0]))), x);
      const gated = mul(attended, softmax(matMul(attended, w)));
      const student = logSoftmax(gated);
      const distilled = neg(reduceMean(mul(softmax(x), student)));
      const metric = reduceMean(log(softmax(gated)));
      return add(add(softmaxCrossEntropyLoss(gated, y), distilled), metric);
    });
    expect(found(graph)).toEqual([]);
  });

  it("is named by scope and line, in float32 too, with what to pass", () => {
    const graph = with4((x, y) => {
      const shares = scope("head", () => softmax(x));
      return softmaxCrossEntropyLoss(shares, y);
    });
    expect(lintCasts(graph, float32Policy)).toMatchObject([
      {
        rule: "activated-twice",
        severity: "warning",
        scope: "head",
        message: expect.stringMatching(
          /^head\/Softmax: the loss applies a Softmax itself.* \(at .*activated-twice\.test\.ts/,
        ) as string,
        remedy: "pass it the scores before the Softmax",
      },
    ]);
  });
});

describe("a sigmoid before a loss of logits", () => {
  const entropy = (x: Tensor, y: Tensor): Tensor => {
    const target = cast(y, "f32");
    return reduceMean(add(mul(target, softplus(neg(x))), mul(sub(1, target), softplus(x))));
  };

  it("is warned of behind casts and moves, and of nothing else is", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...keeping), { maxLength: 3 }), (between) => {
        const scores = (x: Tensor): Tensor => cast(rows(apply(sigmoid(x), between)), "f32");
        expect(found(with4((x, y) => entropy(scores(x), y)))).toEqual(["Sigmoid"]);
        expect(found(with4((x, y) => entropy(mul(scores(x), x), y)))).toEqual([]);
        expect(found(with4((x) => reduceMean(softplus(scores(x)))))).toEqual([]);
        expect(found(with4((x) => reduceMean(softplus(neg(scores(x))))))).toEqual([]);
      }),
    );
    expect(found(with4((x, y) => entropy(x, y)))).toEqual([]);
  });
});
