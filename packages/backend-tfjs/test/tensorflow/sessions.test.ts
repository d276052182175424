import { existsSync } from "node:fs";
import {
  type Executable,
  type Graph,
  GraphBuilder,
  type HostTensor,
  MpError,
  type State,
  tensor,
  type Value,
} from "@mp/graph";
import { describe, expect, it } from "vitest";
import { tfjs } from "../../src/index.js";
import type { TfjsNode } from "../../src/load/index.js";
import { counting } from "./counting-binding.js";
import { withTensorFlow } from "./installed-tensorflow.js";

const f32 = (...numbers: readonly number[]): HostTensor => tensor(Float32Array.from(numbers));
const flag = (value: boolean): HostTensor => tensor(Uint8Array.of(Number(value)), [], "bool");
const pair = { dtype: "f32", shape: [2] } as const;
const bits = ({ data }: HostTensor): readonly number[] => [
  ...new Uint32Array(data.buffer, data.byteOffset, 2),
];

/** Weights that the batch replaces if its flag is true. */
function replacing(): Graph {
  const builder = new GraphBuilder();
  builder.input("w", pair, "parameter");
  const x = builder.input("x", pair, "batch");
  const go = builder.input("go", { dtype: "bool", shape: [] }, "batch");
  return builder.finish({
    next: builder.emitOne("Identity", [x], {}),
    go: builder.emitOne("Identity", [go], {}),
  });
}

/** The sum of a slot, and a row of it that may not exist. */
function reading(): Graph {
  const builder = new GraphBuilder();
  const w = builder.input("w", pair, "parameter");
  const row = builder.input("row", { dtype: "i32", shape: [] }, "batch");
  const doubled: Value = builder.emitOne("Add", [w, w], {});
  return builder.finish({
    doubled,
    row: builder.emitOne("Gather", [doubled, row], { axis: 0 }),
    next: builder.emitOne("Neg", [w], {}),
  });
}

await withTensorFlow((real) => {
  const { memory } = real as TfjsNode & { memory(): { readonly numTensors: number } };
  const counted = counting(real);
  const open = async () => {
    const backend = await tfjs({ tf: counted.tf });
    counted.folders.length = 0;
    const replace = (state: State): Promise<Executable> =>
      backend.compile(replacing(), {
        state,
        bindings: [{ slot: "w", input: "w", output: "next", commit: "when-applied" }],
        applied: "go",
      });
    const read = (state: State): Promise<Executable> =>
      backend.compile(reading(), {
        state,
        bindings: [{ slot: "w", input: "w", output: "next", commit: "always" }],
      });
    return { ...counted, backend, replace, read };
  };

  describe("a state", () => {
    it("keeps its bits, NaN and all, where a step is not applied", async () => {
      const { backend, replace } = await open();
      const nan = new Float32Array(new Uint32Array([0x7fa00123, 0x80000000]).buffer);
      const state = await backend.createState({ w: tensor(nan) });
      const step = await replace(state);
      await step.run({ x: f32(1, 2), go: flag(false) });
      const { w } = await state.read();
      expect(bits(w as HostTensor)).toEqual([0x7fa00123, 0x80000000]);
      await step.run({ x: f32(1, 2), go: flag(true) });
      expect((await state.read())["w"]?.data).toEqual(Float32Array.of(1, 2));
      await backend.dispose();
    });

    it("moves to the next session when a program joins, and to the host when the last one goes", async () => {
      const { backend, replace, read, sessions, folders } = await open();
      const state = await backend.createState({ w: f32(0, 0) });
      const step = await replace(state);
      expect(sessions.size).toBe(0);
      await step.run({ x: f32(3, 4), go: flag(true) });
      const other = await read(state);
      expect(folders.length).toBe(1);
      const { doubled } = await other.run({ row: tensor(Int32Array.of(1), []) });
      expect(doubled?.data).toEqual(Float32Array.of(6, 8));
      expect([folders.length, sessions.size]).toEqual([2, 1]);
      await step.run({ x: f32(5, 6), go: flag(true) });
      expect(folders.length).toBe(2);
      await step.dispose();
      await other.dispose();
      expect(sessions.size).toBe(0);
      expect((await state.read())["w"]?.data).toEqual(Float32Array.of(5, 6));
      await backend.dispose();
    });

    it("is what it was after a run that failed, which names the node and the line", async () => {
      const { backend, read } = await open();
      const state = await backend.createState({ w: f32(3, 4) });
      const executable = await read(state);
      const failure = await executable
        .run({ row: tensor(Int32Array.of(7), []) })
        .catch((error: unknown) => error);
      expect(MpError.is(failure) && failure.code).toBe("MP_BACKEND_FAILED");
      expect(String(failure)).toMatch(/node Gather/);
      expect((await state.read())["w"]?.data).toEqual(Float32Array.of(3, 4));
      await backend.dispose();
    });

    it("holds no memory of JavaScript's, which may change or go", async () => {
      const { backend, replace } = await open();
      const state = await backend.createState({ w: f32(0, 0) });
      const step = await replace(state);
      for (let turn = 1; turn <= 50; turn++) {
        const x = f32(turn, -turn);
        await step.run({ x, go: flag(true) });
        (x.data as Float32Array).fill(99);
        expect((await state.read())["w"]?.data).toEqual(Float32Array.of(turn, -turn));
      }
      await backend.dispose();
    });
  });

  describe("nothing is left behind", () => {
    it("by runs, reads, writes, failures and disposal", async () => {
      const { backend, replace, read, tensors, sessions, folders } = await open();
      const before = memory().numTensors;
      const state = await backend.createState({ w: f32(0, 0), empty: tensor(new Float32Array(0), [0]) });
      const [step, other] = [await replace(state), await read(state)];
      const handle = await backend.upload(f32(1, 2));
      for (let turn = 0; turn < 5; turn++) {
        await step.run({ x: handle, go: flag(turn % 2 === 0) });
        await other.run({ row: tensor(Int32Array.of(0), []) });
        await other.run({ row: tensor(Int32Array.of(9), []) }).catch(() => undefined);
        await state.write({ w: f32(turn, turn) });
        await state.read(["w", "empty"]);
        expect(tensors.size, "tensors beside the handle's").toBe(1);
      }
      handle.dispose();
      expect([tensors.size, memory().numTensors]).toEqual([0, before]);
      await backend.dispose();
      expect(sessions.size).toBe(0);
      expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
    });
  });
});
