import { GraphBuilder, tensor } from "@mp/graph";
import type { Target } from "../lowerings/target.js";
import { storageOf } from "../storage.js";
import type { ProbedEngine } from "./engine.js";
import { runGraph } from "./run-graph.js";

/** An integer just above the midpoint of two f32 numbers; rounded to f64, it is exactly the midpoint. */
const ABOVE_TIE = 2n ** 54n + 2n ** 30n + 1n;

/**
 * Whether the engine casts 64-bit integers to f32 through f64, which rounds twice. The tensor has nine
 * elements, because vectorized code may do so even if scalar code does not.
 */
export async function castsThroughDoubles(engine: ProbedEngine, target: Target): Promise<boolean> {
  if (storageOf(target).storedType({ dtype: "i64", shape: [] }).dtype !== "i64") return false;
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "i64", shape: [9] }, "batch");
  const graph = builder.finish({ y: builder.emitOne("Cast", [x], { to: "f32" }) });
  const inputs = { x: tensor(new BigInt64Array(9).fill(ABOVE_TIE)) };
  const { y } = await runGraph(engine, graph, target, inputs);
  return Array.from(y?.data as Float32Array).some((number) => number === 2 ** 54);
}
