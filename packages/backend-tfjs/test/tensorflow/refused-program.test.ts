import { GraphBuilder, tensor } from "@mp/graph";
import { resolveBindings } from "@mp/graph/internal";
import { expect, test } from "vitest";
import { nodeInit } from "../../src/graph/node-def.js";
import { expectTensorFlow } from "../../src/load/index.js";
import { lowerProgram, type Program } from "../../src/lowerings/program.js";
import { ProgramSet } from "../../src/session/program-set.js";
import { withTensorFlow } from "./installed-tensorflow.js";

const type = { dtype: "f32", shape: [2] } as const;

/** Reads a slot; optionally with a node of that op next to it. */
function reading(programs: ProgramSet, strange?: string): Program {
  const builder = new GraphBuilder();
  const w = builder.input("w", type, "parameter");
  const graph = builder.finish({ twice: builder.emitOne("Add", [w, w], {}) });
  const bound = resolveBindings(graph, { w: type }, { bindings: [{ slot: "w", input: "w" }] });
  const scope = programs.nextScope();
  const handle = (slot: string): string => programs.handle(slot);
  const program = lowerProgram(graph, { scope, bound, handle, isWidened: () => false });
  const nodes = strange === undefined ? [] : [nodeInit(strange, `${scope}/strange`, [], {})];
  programs.add(program);
  const whole = { ...program, nodes: [...program.nodes, ...nodes] };
  programs.remove(program);
  programs.add(whole);
  return whole;
}

await withTensorFlow((tf) => {
  const { binding } = expectTensorFlow(tf);
  const values = new Map([["w", tensor(Float32Array.of(1, 2))]]);
  const runs = async (programs: ProgramSet, program: Program): Promise<number[]> => {
    const ids = await programs.run(program, []);
    const [id] = ids as [number];
    const result = [...binding.tensorDataSync(id)];
    binding.deleteTensor(id);
    return result;
  };

  test("a program that TensorFlow refuses leaves those before and after it alone", async () => {
    const programs = new ProgramSet(binding, values);
    const first = reading(programs);
    expect(await runs(programs, first)).toEqual([2, 4]);
    const refused = reading(programs, "NoSuchOperation");
    for (let turn = 0; turn < 2; turn++)
      await expect(programs.run(refused, [])).rejects.toThrow(
        /TensorFlow refuses the graph.*NoSuchOperation/,
      );
    programs.write([["w", tensor(Float32Array.of(3, 4))]]);
    expect(await runs(programs, first)).toEqual([6, 8]);
    expect(await runs(programs, reading(programs))).toEqual([6, 8]);
    programs.dispose();
  });

  test("a program that waits to be refused stands in nobody's way", async () => {
    const programs = new ProgramSet(binding, values);
    const first = reading(programs);
    const refused = reading(programs, "NoSuchOperation");
    expect(await runs(programs, first)).toEqual([2, 4]);
    expect(await runs(programs, reading(programs))).toEqual([2, 4]);
    await expect(programs.run(refused, [])).rejects.toThrow("NoSuchOperation");
    programs.dispose();
  });
});
