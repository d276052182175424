/** Tests that backends read each argument once, so that they use the value that they checked, and keep every name. */
import { expect, it } from "vitest";
import type { Backend } from "../contract/backend.js";
import { GraphBuilder } from "../graph/build/builder.js";
import type { Graph } from "../graph/graph.js";
import { type HostTensor, tensor } from "../host/host-tensor.js";
import { reference } from "../reference/index.js";

const type = { dtype: "f32", shape: [4] } as const;
const ones = (): HostTensor => tensor(new Float32Array(4).fill(1));

function doubled(input: string, output: string): Graph {
  const builder = new GraphBuilder();
  const x = builder.input(input, type, "batch");
  return builder.finish(Object.fromEntries([[output, builder.emitOne("Add", [x, x], {})]]));
}

/** A tensor whose data is read as 4 elements `looks` times, then as one. */
function shrinking(looks: number): HostTensor {
  let seen = 0;
  return {
    ...type,
    get data() {
      return new Float32Array(seen++ < looks ? 4 : 1).fill(1);
    },
  };
}

it("a tensor that is another one when it is looked at again is used as it was checked, or refused", async () => {
  const backend: Backend = await reference();
  const executable = await backend.compile(doubled("x", "y"));
  const used = [];
  for (let looks = 0; looks < 6; looks++) {
    const run = executable.run({ x: shrinking(looks) }).then(
      ({ y }) => [...(y?.data ?? [])].join(),
      ({ code }) => code,
    );
    used.push(await run);
    const state = await backend.createState({ a: shrinking(looks) }).catch(({ code }) => code);
    if (typeof state === "string") continue;
    expect((await state.read()).a).toEqual(ones());
  }
  expect(new Set(used)).toEqual(new Set(["MP_SHAPE_MISMATCH", "2,2,2,2"]));
  await backend.dispose();
});

it("every name is a slot, an input and an output", async () => {
  const backend: Backend = await reference();
  for (const name of ["__proto__", "constructor", "toString", ""]) {
    const named = (value: HostTensor) => Object.fromEntries([[name, value]]);
    const executable = await backend.compile(doubled(name, name));
    const [result] = Object.entries(await executable.run(named(ones())));
    expect(result).toEqual([name, tensor(new Float32Array(4).fill(2))]);
    const state = await backend.createState(named(ones()));
    expect(Object.entries(await state.read())).toEqual([[name, ones()]]);
    await expect(executable.run({})).rejects.toThrow(`input ${JSON.stringify(name)} is missing`);
  }
  await backend.dispose();
});

it("what is no object of tensors, or no list of names, is refused", async () => {
  const backend: Backend = await reference();
  const executable = await backend.compile(doubled("x", "y"));
  const state = await backend.createState({ a: ones() });
  for (const none of [null, 1, "a", [ones()]] as never[]) {
    const message = "takes tensors by name, such as { x }, got";
    await expect(executable.run(none)).rejects.toThrow(`run: ${message}`);
    await expect(state.write(none)).rejects.toThrow(`state: ${message}`);
    await expect(backend.createState(none)).rejects.toThrow(`createState: ${message}`);
  }
  for (const none of [null, 1, "a"] as never[]) {
    await expect(state.read(none)).rejects.toThrow("state: takes a list of names, got");
  }
  await backend.dispose();
});
