/**
 * Nodes of every op over dtypes, empty axes, sizes around a vector's and the extremes of the integers, in a separate
 * process: the engine gives what the oracle gives, or an error with a code where the oracle has one. It never crashes.
 */
import {
  type DType,
  decode,
  type Graph,
  GraphBuilder,
  type HostTensor,
  isFloat,
  MpError,
  type Op,
  opDTypes,
} from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { type Answer, EngineProcess, type SingleNode } from "./hostile/engine-process.js";
import { RANDOM_OPS, randomNode } from "./hostile/random-node-table.js";

/** Nodes per op and dtype; MP_NODES and MP_SEED widen the search. */
const COUNT = Number(process.env["MP_NODES"] ?? 4);
/** At most this many are drawn for each node that type inference accepts. */
const DRAWS = 25;
const SEED = Number(process.env["MP_SEED"] ?? 1);

const engine = new EngineProcess();
afterAll(() => engine.stop());

/** The oracle's results, or the error that it has for them; undefined for a node that type inference refuses. */
function oracleOf({ op, attributes, inputs }: SingleNode): readonly HostTensor[] | MpError | undefined {
  const builder = new GraphBuilder();
  let graph: Graph;
  try {
    const values = builder.emit(
      op,
      inputs.map((input, index) => builder.input(`x${index}`, input, "batch")),
      attributes,
    );
    graph = builder.finish(new Map(values.map((value, index) => [`y${index}`, value])));
  } catch (error) {
    if (MpError.is(error)) return undefined;
    throw error;
  }
  try {
    const results = evaluate(
      graph,
      Object.fromEntries(inputs.map((input, index) => [`x${index}`, input] as const)),
    );
    return graph.outputs.map(({ name }) => results[name] as HostTensor);
  } catch (error) {
    if (MpError.is(error)) return error;
    throw error;
  }
}

/**
 * For small numbers, whose sums and products are exact: the allowed error of a function, relative to its value or to
 * 1/50.
 */
const RELATIVE: Readonly<Partial<Record<DType, number>>> = { f32: 1e-5, f16: 2e-3, bf16: 1.6e-2 };

function difference(got: HostTensor | undefined, want: HostTensor): string | undefined {
  const { dtype } = want;
  if (got?.dtype !== dtype || got.shape.join() !== want.shape.join()) {
    return `is ${got?.dtype} [${got?.shape}], want ${dtype} [${want.shape}]`;
  }
  for (let at = 0; at < want.data.length; at++) {
    const [a, b] = [got.data[at] ?? 0, want.data[at] ?? 0];
    if (a === b || (Number.isNaN(a) && Number.isNaN(b))) continue;
    if (!isFloat(dtype)) return `at ${at} is ${a}, want ${b}`;
    const [x, y] = [a, b].map((raw) => (dtype === "f32" ? Number(raw) : decode(dtype, Number(raw)))) as [
      number,
      number,
    ];
    const slack = (RELATIVE[dtype] ?? 0) * Math.max(0.02, Math.abs(x), Math.abs(y));
    if (!(Math.abs(x - y) <= slack || (Number.isNaN(x) && Number.isNaN(y))))
      return `at ${at} is ${x}, want ${y}`;
  }
  return undefined;
}

/** Describes what is wrong with an answer. */
function problemOf(answer: Answer, want: readonly HostTensor[] | MpError): string | undefined {
  if ("died" in answer) return `the process died of ${answer.died}`;
  if (MpError.is(want)) {
    // Where there is nothing to fetch, no index is checked.
    const isCoded = "code" in answer ? answer.code.startsWith("MP_") : answer.results.every(isEmpty);
    return isCoded ? undefined : `no error with a code, though the oracle has one: ${want.message}`;
  }
  if ("code" in answer) return `${answer.code}: ${answer.message}`;
  return want.map((tensor, index) => difference(answer.results[index], tensor)).find(Boolean);
}

const isEmpty = ({ shape }: HostTensor): boolean => shape.includes(0);

const shownNode = ({ op, attributes, inputs }: SingleNode): string => {
  const given = JSON.stringify(attributes, (_, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  const operands = inputs.map(
    ({ dtype, shape, data }) => `${dtype}[${shape}] ${Array.from(data as ArrayLike<unknown>).slice(0, 8)}`,
  );
  return `${op} ${given} of ${operands.join("; ")}`;
};

it.each(RANDOM_OPS)(
  "%s",
  async (op: Op) => {
    let asked = 0;
    for (const dtype of opDTypes[op]) {
      const drawn = randomNode(op, dtype);
      if (drawn === undefined) continue;
      let valid = 0;
      for (const { attributes, inputs } of fc.sample(drawn, { numRuns: DRAWS * COUNT, seed: SEED })) {
        const node = { op, attributes, inputs };
        const want = oracleOf(node);
        if (want === undefined) continue;
        expect(problemOf(await engine.run(node), want), `${shownNode(node)}; seed ${SEED}`).toBeUndefined();
        if (++valid === COUNT) break;
      }
      expect(valid, `valid nodes of ${op} in ${dtype}`).toBe(COUNT);
      asked += valid;
    }
    expect(asked, `nodes of ${op}`).toBeGreaterThan(0);
  },
  300_000,
);
