// Compiles and runs, with snippets on, products over which OpenVINO 2026.4.1 ends the process. `snippets.ts` starts it.
import { zeros } from "@mp/core";
import { GraphBuilder, type Value } from "@mp/core/graph";
import { lowerGraph, type Target } from "@mp/onnx-lowering";
import { NativeRuntime } from "../native/index.js";
import { probedEngine } from "./probed-engine.js";

/** Elements of each vector; some thousands pass. */
const LENGTH = 66_002;

const TARGET: Target = {
  device: "cpu",
  emulated: ["f16", "bf16"],
  widened: new Set(),
  blockSize: undefined,
  castsThroughDoubles: false,
};

const [, , library = "", version = ""] = process.argv;
const runtime = new NativeRuntime({ library, version });
runtime.hasSnippets = true;
const builder = new GraphBuilder();
const vector = (name: string): Value => builder.input(name, { dtype: "f32", shape: [LENGTH] }, "batch");
const dot = builder.emitOne("Einsum", [vector("a"), vector("b")], { equation: "i,i->" });
const graph = builder.finish({ dot });
const lowered = lowerGraph(graph, TARGET);
await probedEngine(runtime).runModel(
  lowered.model,
  new Map(graph.inputs.map(({ name, value }) => [lowered.inputName(name), zeros(value.shape, "f32")])),
  new Map(graph.outputs.map(({ name, value }) => [lowered.outputName(name), value])),
);
await runtime.dispose();
