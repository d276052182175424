/** Arrays that a backend has returned do not change and do not share memory, whatever is called afterwards. */
import {
  type Backend,
  DTYPES,
  type DType,
  type Executable,
  type Graph,
  type Handle,
  type HostTensor,
  type State,
} from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectThat } from "../../expectations.js";
import { fresh } from "../../fresh.js";
import { overwrite } from "../../held-data.js";
import { randomBits } from "../../random-bits-of.js";
import type { RandomSource } from "../../random-source.js";
import { holdable } from "../../short-integers.js";
import { at, buildGraph, valueType } from "../../small-graphs.js";
import { expectSame, scriptedCase } from "../kinds/scripted-case.js";

const STEPS = 80;

/** Exchanges x and y; returns the old value of `slot` and replaces it by x. */
const exchanging = (dtype: DType, length: number): Graph =>
  buildGraph({
    inputs: { x: valueType(dtype, length), y: valueType(dtype, length), slot: valueType(dtype, length) },
    outputs: (_, inputs) => ({
      first: at(inputs, "y"),
      second: at(inputs, "x"),
      seen: at(inputs, "slot"),
      next: at(inputs, "x"),
    }),
  });

interface ReturnedArray {
  readonly tensor: HostTensor;
  readonly want: HostTensor;
  readonly what: string;
}

/** All arrays that the backend has returned, compared again after each call. */
class Kept {
  readonly #all: ReturnedArray[] = [];

  add(tensor: HostTensor | undefined, want: HostTensor, what: string): void {
    expectSame(tensor, want, what);
    if (tensor === undefined) return;
    const range = rangeOf(tensor);
    for (const other of this.#all)
      expectThat(!meet(range, rangeOf(other.tensor)), `${what} and ${other.what} are one array`);
    this.#all.push({ tensor, want, what });
  }

  /** Writes to one of the arrays, as a caller may; the others must not change. */
  overwriteOne(random: RandomSource): string {
    const [gone] = this.#all.splice(random.integer(0, this.#all.length - 1), 1);
    overwrite(gone?.tensor);
    return gone === undefined ? "nothing" : `the caller's write to ${gone.what}`;
  }

  expectAll(when: string): void {
    for (const { tensor, want, what } of this.#all) expectSame(tensor, want, `${what}, after ${when},`);
    // Keeps enough arrays to find shared memory, and few enough to compare quickly.
    if (this.#all.length > 60) this.#all.splice(0, 20);
  }
}

type Range = readonly [buffer: ArrayBufferLike, start: number, end: number];

const rangeOf = ({ data: { buffer, byteOffset, byteLength } }: HostTensor): Range => [
  buffer,
  byteOffset,
  byteOffset + byteLength,
];

const meet = ([a, start, end]: Range, [b, from, to]: Range): boolean => a === b && start < to && from < end;

interface World {
  readonly backend: Backend;
  readonly random: RandomSource;
  readonly kept: Kept;
  readonly make: () => HostTensor;
  readonly handles: (readonly [handle: Handle, value: HostTensor])[];
  readonly state: State;
  readonly executable: Executable;
  /** The value that the slot must hold. */
  held: HostTensor;
}

const CALLS: readonly (readonly [string, (world: World, step: number) => Promise<void>])[] = [
  [
    "an upload",
    async ({ backend, handles, make, random }) => {
      const value = make();
      handles.push([await backend.upload(fresh(value)), value]);
      if (handles.length > 6) handles.splice(random.integer(0, 5), 1)[0]?.[0].dispose();
    },
  ],
  [
    "two downloads",
    async ({ backend, handles, kept, random }, step) => {
      const one = handles[random.integer(0, handles.length - 1)];
      if (one === undefined) return;
      const [handle, value] = one;
      kept.add(await backend.download(handle), value, `download ${step}`);
      kept.add(await backend.download(handle), value, `download ${step} of the same handle again`);
    },
  ],
  [
    "downloads at once",
    async ({ backend, handles, kept }, step) => {
      const got = await Promise.all(handles.map(([handle]) => backend.download(handle)));
      for (const [index, tensor] of got.entries())
        kept.add(
          tensor,
          handles[index]?.[1] as HostTensor,
          `download ${step} of handle ${index}, at once with others`,
        );
    },
  ],
  [
    "a read",
    async ({ state, kept, held }, step) => kept.add((await state.read())["slot"], held, `read ${step}`),
  ],
  [
    "a write",
    async (world) => {
      world.held = world.make();
      await world.state.write({ slot: fresh(world.held) });
    },
  ],
  [
    "a run",
    async (world, step) => {
      const { executable, handles, kept, make, random } = world;
      const x = make();
      const [y, ofY] = random.integer(0, 1) === 0 ? [undefined, make()] : (handles[0] ?? [undefined, make()]);
      const got = await executable.run({ x: fresh(x), y: y ?? fresh(ofY) });
      kept.add(got["first"], ofY, `the first result of run ${step}`);
      kept.add(got["second"], x, `the second result of run ${step}`);
      kept.add(got["seen"], world.held, `what run ${step} saw`);
      world.held = x;
    },
  ],
];

const liveCase = (dtype: DType, length: number): ConformanceCase =>
  scriptedCase(
    `live-arrays/${dtype}/${length}-elements`,
    exchanging(dtype, length),
    async (backend, { random, seed }) => {
      const make = (): HostTensor => holdable(randomBits({ random, dtype }, [length]), backend.manifest);
      const kept = new Kept();
      const held = make();
      const state = await backend.createState({ slot: fresh(held) });
      const executable = await backend.compile(exchanging(dtype, length), {
        state,
        bindings: [{ slot: "slot", input: "slot", output: "next" }],
      });
      const world: World = { backend, random, kept, make, handles: [], state, executable, held };
      for (let step = 0; step < STEPS; step++) {
        const [what, call] = CALLS[random.integer(0, CALLS.length - 1)] as (typeof CALLS)[number];
        await call(world, step);
        kept.expectAll(`${what}, step ${step} (seed ${seed})`);
        if (step % 5 === 4) kept.expectAll(`${kept.overwriteOne(random)}, step ${step} (seed ${seed})`);
      }
      await executable.dispose();
      await state.dispose();
      for (const [handle] of world.handles) handle.dispose();
      kept.expectAll(`the end of all that they are of (seed ${seed})`);
      const again = await backend.upload(make());
      kept.expectAll(`an upload after that (seed ${seed})`);
      again.dispose();
    },
  );

export const liveArrayCases: readonly ConformanceCase[] = DTYPES.flatMap((dtype) =>
  dtype === "f32" ? [liveCase(dtype, 7), liveCase(dtype, 4_099)] : [liveCase(dtype, 7)],
);
