// Random models are exported, loaded and run by plain onnxruntime-node in processes of their own: a file that ends one is
// named. `npm test` runs a fiftieth of what `npm run soak -- export` does.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  decodeArray,
  encodeArray,
  type HostTensor,
  isHostTensor,
  leavesOf,
  MpError,
  type Tensor,
  tensor,
  traceInto,
} from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { encodeModel, exportOnnx } from "@mp/onnx";
import { afterAll, expect, it } from "vitest";
import { part, randomOf, seed } from "../../core/test/soak/size.js";
import { type RandomModel, randomModel } from "./random-exports/random-model.js";

const folder = mkdtempSync(join(tmpdir(), "mp-random-exports-"));
afterAll(() => rmSync(folder, { recursive: true }));
const loader = fileURLToPath(new URL("random-exports/load-files.cjs", import.meta.url));

/** Differences allowed, of values that are at most about 1: two units of a half dtype, to which any model may cast. */
const DTYPES = { f32: 2e-3, f16: 3e-2, bf16: 2e-3 } as const;
type DType = keyof typeof DTYPES;

/** Rounds parameters as storage in that dtype does. */
function stored(params: RandomModel["params"], dtype: DType): RandomModel["params"] {
  const round = ({ data, shape }: HostTensor<"f32">): HostTensor<"f32"> =>
    tensor(decodeArray(dtype, encodeArray(dtype, data)), shape) as HostTensor<"f32">;
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, round(value)]));
}

function expected({ apply }: RandomModel, params: RandomModel["params"], x: HostTensor): HostTensor {
  const entries = Object.entries({ ...params, x });
  const inputs = entries.map(([name, type]) => ({ name, role: "batch" as const, type }));
  const { graph } = traceInto(inputs, (tensors) => {
    const values = Object.fromEntries(entries.map(([name], index) => [name, tensors[index] as Tensor]));
    return apply(values, { x: values["x"] as Tensor });
  });
  return leavesOf(evaluate(graph, Object.fromEntries(entries)), isHostTensor, "")[0]?.[1] as HostTensor;
}

interface Case {
  readonly index: number;
  readonly dtype: DType;
  readonly file: string;
  readonly shape: readonly number[];
  readonly input: readonly number[];
  readonly wanted: HostTensor;
}

/** Writes a model; undefined where a dynamic axis cannot be followed, which is refused with a code. */
function exported(index: number): Case | undefined {
  const random = randomOf(seed + index);
  const model = randomModel(random);
  const dtype = (Object.keys(DTYPES) as DType[])[index % 3] as DType;
  const inputs = { x: { shape: model.shape } };
  const open = model.hasOpenBatch ? { dynamicAxes: { x: { 0: "batch" } } } : {};
  const file = `${index}.onnx`;
  try {
    const written = exportOnnx(model.apply, { params: model.params }, { inputs, dtype, ...open });
    writeFileSync(join(folder, file), encodeModel(written));
  } catch (error) {
    if (model.hasOpenBatch && MpError.is(error)) return undefined;
    throw new Error(`model ${index} of seed ${seed}`, { cause: error });
  }
  const length = model.shape.reduce((product, size) => product * size, 1);
  const x = tensor(
    Float32Array.from({ length }, () => 2 * random() - 1),
    model.shape,
  );
  const wanted = expected(model, stored(model.params, dtype), x);
  return { index, dtype, file, shape: model.shape, input: [...x.data], wanted };
}

interface Printed {
  readonly index: number;
  readonly output?: readonly number[];
  readonly shape?: readonly number[];
  readonly error?: string;
}

/** The results of processes for all files: each begins after the one that ended the process before. */
function loaded(cases: readonly Case[]): {
  readonly said: readonly Printed[];
  readonly killers: readonly number[];
} {
  writeFileSync(join(folder, "files.json"), JSON.stringify(cases));
  const said: Printed[] = [];
  const killers: number[] = [];
  for (let from = 0; ; ) {
    const { stdout, signal } = spawnSync(process.execPath, [loader, folder, String(from)], {
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    const lines = stdout
      .trim()
      .split("\n")
      .map((line): Printed => JSON.parse(line));
    said.push(...lines);
    if (signal === null) return { said, killers };
    const killer = lines.at(-1)?.index ?? from;
    killers.push(killer);
    from = killer + 1;
  }
}

it("random models are loaded, and run as the oracle computes them", () => {
  const count = part(5000);
  const tally = { models: count, refused: 0, killers: 0, errors: 0, wrong: 0 };
  const problems: string[] = [];
  for (let from = 0; from < count; from += 50) {
    const indices = Array.from({ length: Math.min(50, count - from) }, (_, at) => from + at);
    const cases = indices.flatMap((index) => exported(index) ?? []);
    tally.refused += indices.length - cases.length;
    const { said, killers } = loaded(cases);
    tally.killers += killers.length;
    for (const index of killers) problems.push(`model ${index} ends the process that loads it`);
    for (const { index, output, shape, error } of said) {
      const one = cases.find((each) => each.index === index);
      if (error !== undefined) {
        tally.errors++;
        problems.push(`model ${index} in ${one?.dtype}: ${error}`);
      }
      if (output === undefined || one === undefined) continue;
      const differences = output.map((value, at) => Math.abs(value - Number(one.wanted.data[at])));
      const most = Math.max(0, ...differences.map((each) => (Number.isNaN(each) ? Infinity : each)));
      if (shape?.join() === one.wanted.shape.join() && most <= DTYPES[one.dtype]) continue;
      tally.wrong++;
      problems.push(`model ${index} in ${one.dtype}: [${shape}] is off by ${most}`);
    }
  }
  console.log(`random exports, seed ${seed}: ${JSON.stringify(tally)}`);
  expect(problems).toEqual([]);
  expect(tally.refused).toBeLessThan(count / 4);
});
