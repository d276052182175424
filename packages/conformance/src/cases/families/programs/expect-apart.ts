/** Programs that differ in one place. An engine that caches compiled programs must never take one for another. */
import {
  type Backend,
  type CompileOptions,
  type Executable,
  type Graph,
  type HostTensor,
  isComputeFloat,
} from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { type Allowance, EXACT } from "../../../compare/allowance.js";
import { compareTensors } from "../../../compare/compare-tensors.js";
import type { CaseContext, ConformanceCase } from "../../../conformance-case.js";
import { fail } from "../../../expectations.js";
import { flush } from "../../../host-data.js";
import type { GraphCheck, Tensors } from "../../kinds/graph-case.js";
import { scriptedCase } from "../../kinds/scripted-case.js";

/** One of several similar programs. */
export interface Program extends Pick<GraphCheck, "graph" | "inputs"> {
  /** How the program differs from the others, for messages. */
  readonly what: string;
  /** Allowed deviation from the oracle; default none. */
  readonly allowance?: GraphCheck["allowance"];
  readonly options?: CompileOptions;
}

interface Opened {
  readonly program: Program;
  readonly executable: Executable;
  readonly inputs: Tensors;
  readonly want: Tensors;
}

const exactly = (): Allowance => EXACT;

/** Whether a run returns the output; outputs that replace slots are not results. */
const isResult = ({ options }: Program, output: string): boolean =>
  options?.bindings?.every((binding) => binding.output !== output) ?? true;

async function expectRun(
  backend: Backend,
  { program, executable, inputs, want }: Opened,
  when: string,
): Promise<void> {
  const { what, allowance = exactly } = program;
  const got = await executable.run(inputs);
  for (const [name, tensor] of Object.entries(want)) {
    if (!isResult(program, name)) continue;
    const mismatch = compareTensors(got[name], tensor, allowance(backend.manifest, name));
    if (mismatch !== undefined) fail(`the program with ${what}, ${when}: ${name} ${mismatch}`);
  }
}

function feed({ manifest }: Backend, inputs: Tensors): Tensors {
  const feedOne = (tensor: HostTensor): HostTensor =>
    isComputeFloat(tensor.dtype) && manifest.subnormals[tensor.dtype] === "flush" ? flush(tensor) : tensor;
  return Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, feedOne(tensor)]));
}

/**
 * Compiles the programs one after another, so that the engine's caches hold the earlier ones, and runs them in turn:
 * first when all are alive, then after each second one has been disposed of.
 * @param values of slots that inputs are bound to, for the oracle
 */
async function expectApart(
  backend: Backend,
  programs: readonly Program[],
  values: (program: Program) => Tensors = () => ({}),
): Promise<void> {
  const opened: Opened[] = [];
  try {
    for (const program of programs) {
      const executable = await backend.compile(program.graph, program.options);
      const inputs = feed(backend, program.inputs);
      const want = evaluate(program.graph, { ...inputs, ...values(program) });
      const one = { program, executable, inputs, want };
      opened.push(one);
      await expectRun(backend, one, `compiled after ${opened.length - 1} that differ in one place`);
    }
    for (const one of opened.toReversed())
      await expectRun(backend, one, "run again after those compiled later");
    const isKept = (_: Opened, at: number): boolean => at % 2 === 1;
    const gone = opened.filter((one, at) => !isKept(one, at));
    const kept = opened.filter(isKept);
    for (const { executable } of gone) await executable.dispose();
    for (const one of kept) await expectRun(backend, one, "after those that are alike were disposed of");
  } finally {
    for (const { executable } of opened) await executable.dispose();
  }
}

/** Makes similar programs. */
export type Family = (context: Pick<CaseContext, "random"> & Pick<Backend, "manifest">) => readonly Program[];

/** A case that compiles a family. Graphs in `needs` have all its operators. */
export function familyCase(id: string, needs: () => readonly Graph[], family: Family): ConformanceCase {
  return scriptedCase(id, needs, async (backend, context) => {
    try {
      await expectApart(backend, family({ random: context.random, manifest: backend.manifest }));
    } catch (error) {
      fail(`${error instanceof Error ? error.message : String(error)}; seed ${context.seed}`);
    }
  });
}
