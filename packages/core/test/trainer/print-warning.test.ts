import { reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { expect, it, vi } from "vitest";
import { sgd } from "../../src/optim/sgd.js";
import { mixed } from "../../src/precision/presets.js";
import { trainer } from "../../src/train/trainer.js";
import { params } from "../small-run.js";

it("prints what an engine is once a process, and what a run does for each run", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const backend = await reference();
  for (let run = 0; run < 2; run++) {
    const training = await trainer({
      backend,
      params: params(),
      loss: ({ out }) => reduceSum(out),
      optimizer: sgd({ learningRate: 0.1 }),
      precision: mixed(),
    });
    await training.step({});
    expect(training.warnings.map(({ type }) => type)).toEqual(["performance", "gradient"]);
    await training.dispose();
  }
  expect(warn.mock.calls.map(([text]) => String(text).slice(0, 12))).toEqual([
    "[mp] mixed()",
    "[mp] loss: h",
    "[mp] loss: h",
  ]);
});
