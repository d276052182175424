/**
 * Every pair of functions in every float, one applied to the result of the other. Optimizers must not replace the
 * pair by a product, an inverse or a third function, nor leave out the rounding of the inner result.
 */
import {
  type BackendManifest,
  type ComputeDType,
  type Graph,
  GraphBuilder,
  type HostTensor,
  type Op,
  type Value,
} from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import { evaluate } from "@mp/graph/reference";
import { manifestAllowance } from "../../compare/allowance.js";
import { compareTensors } from "../../compare/compare-tensors.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectThat } from "../../expectations.js";
import { hostData } from "../../host-data.js";
import { runGraph } from "../kinds/graph-case.js";
import { scriptedCase } from "../kinds/scripted-case.js";
import { UNARY } from "./form-table.js";

type Unary = (typeof UNARY)[number];

const FLOATS: readonly ComputeDType[] = ["f32", "f16", "bf16"];

/** Whether a function returns numbers; functions that return bools are only outer ones. */
const isInner = (op: Op): boolean => !(["Not", "IsNaN", "IsInf"] as readonly Op[]).includes(op);
const INNER: readonly Unary[] = UNARY.filter(isInner);
const OUTER: readonly Unary[] = UNARY.filter((op) => op !== "Not");

const EDGES = [0, -0, 1, -1, 0.5, -0.75, 2, 3.5, -5, 2 ** -6, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN]; // biome-ignore format: one list
const DRAWN = 24;

/** Applies the outer function to each inner one. With `showsInner` the inner results are outputs, too. */
function chains(outer: Unary, inner: readonly Unary[], dtype: ComputeDType, showsInner: boolean): Graph {
  const builder = new GraphBuilder();
  const outputs: Record<string, Value> = {};
  for (const op of inner) {
    // Each chain has its own operand, since optimizers skip values with several readers.
    const x = builder.input(op, { dtype, shape: [EDGES.length + DRAWN] }, "batch");
    const y = builder.emitOne(op, [x], {});
    outputs[`${outer} of ${op}`] = builder.emitOne(outer, [y], {});
    if (showsInner) outputs[op] = y;
  }
  return builder.finish(outputs);
}

function applyOuter(outer: Unary, dtype: ComputeDType, x: HostTensor): HostTensor {
  const builder = new GraphBuilder();
  const value = builder.input("x", { dtype, shape: x.shape }, "batch");
  return evaluate(builder.finish({ y: builder.emitOne(outer, [value], {}) }), { x })["y"] as HostTensor;
}

const runs = (manifest: BackendManifest, op: Op, dtype: ComputeDType): boolean => {
  const support = manifest.ops[op];
  return unsupportedReason(support) === undefined && (support as readonly string[]).includes(dtype);
};

function chainCase(outer: Unary, dtype: ComputeDType): ConformanceCase {
  const alone = chains(outer, ["Identity" as Unary], dtype, false);
  return scriptedCase(
    `rewrite/${outer}-${dtype}/of-every-function`,
    alone,
    async (backend, { random, seed }) => {
      const { manifest } = backend;
      const inner = INNER.filter((op) => runs(manifest, op, dtype));
      const inputs = Object.fromEntries(
        inner.map((op) => {
          const drawn = Array.from({ length: DRAWN }, () => random.between(-4, 4));
          return [op, hostData(dtype, [...EDGES, ...drawn])];
        }),
      );
      const open = await runGraph(backend, chains(outer, inner, dtype, true), inputs);
      const closed = await runGraph(backend, chains(outer, inner, dtype, false), inputs);
      for (const op of inner) {
        const name = `${outer} of ${op}`;
        const want = applyOuter(outer, dtype, open[op] as HostTensor);
        for (const [what, results] of Object.entries({ "with its inner value": open, alone: closed })) {
          const mismatch = compareTensors(results[name], want, manifestAllowance(manifest, outer, dtype));
          expectThat(mismatch === undefined, `${name}, ${what}, ${mismatch}; seed ${seed}`);
        }
      }
    },
  );
}

export const functionChainCases: readonly ConformanceCase[] = FLOATS.flatMap((dtype) =>
  OUTER.map((outer) => chainCase(outer, dtype)),
);
