import { matMul, transpose } from "@mp/graph/ops";
import { expect, it } from "vitest";
import { numbersOf } from "../../../graph/test/evaluate-op.js";
import { runTraced } from "../../../graph/test/run-traced.js";
import { wave } from "../../test/small-run.js";
import { withHadamard } from "./hadamard.js";

it.each([16, 40, 7])(
  "the transform of both operands keeps their product, and spreads an outlier: %d",
  (size) => {
    const data = { a: wave([5, size], 0.37), b: wave([size, 3], 0.91) };
    data.a.data[2] = 100;
    const made = runTraced(data, ({ a, b }) => {
      const turned = transpose(a, [1, 0]);
      const [p, q] = withHadamard([a, b], [1, 0]);
      const [r] = withHadamard([turned, b], [0, 0]);
      if (p === undefined || q === undefined || r === undefined) throw new Error("two operands give two");
      return { plain: matMul(a, b), rows: matMul(p, q), columns: matMul(transpose(r, [1, 0]), q), p };
    });
    const plain = [...numbersOf(made.plain)];
    for (const part of [made.rows, made.columns])
      for (const [at, each] of [...numbersOf(part)].entries())
        expect(each).toBeCloseTo(plain[at] as number, 3);
    const largest = Math.max(...[...numbersOf(made.p)].map(Math.abs));
    expect(largest).toBeLessThan(30);
  },
);
