// Reading any model as a graph ends in a graph or in an MpError.
import { readFileSync } from "node:fs";
import { float32 } from "@mp/core";
import { MpError, type Tensor, traceInto } from "@mp/graph";
import { add, mul, scan } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { fixture } from "../test/fixtures.js";
import { mutate, randomOf } from "../test/mutations.js";
import { opGraphs } from "../test/op-graphs.js";
import { lengths, modelOf, operandsOf, strings } from "../test/recurrent-models.js";
import { trainingGraphs } from "../test/training-graphs.js";
import { decodeModel } from "./decode.js";
import { encodeModel } from "./encode.js";
import { float, floats } from "./model.js";
import { readGraph } from "./read/read.js";
import { substitutes } from "./read-as.js";
import { writeGraph } from "./write/write.js";

/** @returns whether the bytes could be read as a graph */
function examine(bytes: Uint8Array): boolean {
  try {
    readGraph(decodeModel(bytes, { readAs: substitutes }), { sizes: { batch: 2, length: 3 } });
    return true;
  } catch (error) {
    if (MpError.is(error)) return false;
    throw error;
  }
}

function survives(originals: readonly Uint8Array[], runs: number): void {
  let accepted = 0;
  for (let seed = 0; seed < runs; seed++) {
    const original = originals[seed % originals.length] as Uint8Array;
    try {
      if (examine(mutate(original, randomOf(seed)))) accepted++;
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
  expect(accepted).toBeGreaterThan(runs / 100);
  expect(accepted).toBeLessThan(runs);
}

describe("fuzzing readGraph", () => {
  it("survives mutations of models of one op", () => {
    survives(
      opGraphs().map(({ graph }) => encodeModel(writeGraph(graph))),
      6000,
    );
  });

  it("survives mutations of loops, in loops", () => {
    const type = { dtype: "f32" as const, shape: [3, 2] };
    const { graph } = traceInto([{ name: "x", role: "batch", type }], ([x]) => {
      const inner = (state: Tensor, element: Tensor) =>
        scan((at: Tensor) => [add(at, element), mul(at, x as Tensor)], state, [], { length: 2 });
      return scan((sum: Tensor, element: Tensor) => inner(sum, element), x as Tensor, x as Tensor)[1];
    });
    const loops = [graph, ...opGraphs().flatMap(({ op, graph }) => (op === "Scan" ? [graph] : []))];
    survives(
      loops.map((loop) => encodeModel(writeGraph(loop))),
      3000,
    );
  });

  it("survives mutations of recurrent nodes", () => {
    const held = ["W", "R", "B", "sequence_lens", "P"];
    const models = (["LSTM", "GRU", "RNN"] as const).map((op) => {
      const operands = { ...operandsOf(op), sequence_lens: lengths(2, 3) };
      const activations = { LSTM: ["Elu", "Tanh", "Relu"], GRU: ["Elu", "Tanh"], RNN: ["Elu"] }[op];
      const attributes = {
        clip: float(3),
        activations: strings(activations),
        activation_alpha: floats([0.5]),
      };
      return modelOf(op, operands, { attributes, held, outputs: ["Y", "Y_h"] });
    });
    survives(
      models.map((model) => encodeModel(model)),
      3000,
    );
  });

  it("survives mutations of what others wrote", () => {
    survives(["mlp", "shapes", "indices", "torch"].map(fixture), 2000);
  });

  it("survives mutations of the ONNX project's tests", () => {
    const tests = readFileSync(new URL("../test/fixtures/node-tests.json", import.meta.url), "utf8");
    const models = Object.values(JSON.parse(tests) as Record<string, { readonly model: string }>);
    survives(
      models.map(({ model }) => Buffer.from(model, "base64")),
      2000,
    );
  });

  it("survives mutations of a training step", async () => {
    const graphs = await trainingGraphs(float32());
    survives(
      graphs.map((graph) => encodeModel(writeGraph(graph, { ownOps: "keep" }))),
      400,
    );
  });
});
