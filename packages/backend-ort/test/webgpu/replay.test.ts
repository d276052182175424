/**
 * A recorded run replays commands, and what was not recorded keeps the value of the first run, without an error. So
 * here every graph first runs on other numbers.
 */

import { allCases } from "@mp/conformance";
import { describeConformance } from "@mp/conformance/vitest";
import { type Backend, type Executable, type HostTensor, tensor } from "@mp/graph";
import { ort } from "../../src/index.js";
import { knownFailures } from "./known-failures.js";

/** 0.5 in floats, 0 in integers, so that indices stay in range; 64-bit numbers as they are. */
const FILLINGS: Readonly<Partial<Record<HostTensor["dtype"], number>>> = {
  f32: 0.5,
  f16: 0x3800,
  i32: 0,
  u8: 0,
  bool: 0,
};

type Inputs = Parameters<Executable["run"]>[0];

function others(inputs: Inputs): Inputs {
  const entries = Object.entries(inputs).map(([name, value]) => {
    const filling = FILLINGS[value.dtype];
    if (!("data" in value) || filling === undefined) return [name, value];
    const data = value.data.slice() as Float32Array<ArrayBuffer>;
    return [name, tensor(data.fill(filling), value.shape, value.dtype as "f32")];
  });
  return Object.fromEntries(entries) as Inputs;
}

async function afterOtherNumbers(): Promise<Backend> {
  const backend = await ort({ device: "webgpu" });
  const compile = backend.compile.bind(backend);
  backend.compile = async (graph, options) => {
    const executable = await compile(graph, options);
    if (options?.state !== undefined) return executable;
    const run = executable.run.bind(executable);
    executable.run = async (inputs) => {
      await run(others(inputs));
      return run(inputs);
    };
    return executable;
  };
  return backend;
}

const cases = allCases.filter(({ id }) => /^op\/[^/]*-(f32|f16|i64)\/values$/.test(id));
const replayed = new Set(cases.map(({ id }) => id));

describeConformance({
  factory: afterOtherNumbers,
  cases,
  timeoutMs: 290_000,
  knownFailures: Object.fromEntries(Object.entries(knownFailures).filter(([id]) => replayed.has(id))),
});
