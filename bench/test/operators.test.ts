// 64 operators of PyTorch: `python bench/peers/onnx_operators.py bench/fixtures/operators.safetensors` makes them.
import { join } from "node:path";
import { expect, it } from "vitest";
import { openEngine } from "../src/engine.js";
import { compareOperator, readExportedOperators } from "../src/models/operators.js";
import { FIXTURES } from "./exported-models.js";

const operators = await readExportedOperators(join(FIXTURES, "operators.safetensors"));

it("has all of the script's operators", () => {
  expect(operators).toHaveLength(64);
});

it.each(operators.map((operator) => [operator.name, operator] as const))(
  "%s goes in, trains, and comes out",
  async (_, operator) => {
    const backend = await openEngine({ engine: "ort", threads: 1, device: "cpu" });
    try {
      const found = await compareOperator(backend, operator);
      expect(operator.losses.at(-1)).toBeLessThan(operator.losses[0] ?? 0);
      expect(Math.max(found.forward, found.losses, found.written), JSON.stringify(found)).toBeLessThan(1e-5);
    } finally {
      await backend.dispose();
    }
  },
);
