/** Engines that read the wrong part of views of larger arrays, of parts of one buffer, or of handles of one array. */
import { type Backend, type Handle, type HostTensor, hostArrayOf } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { overwrite } from "../../src/held-data.js";
import { isTensor, mapped, running, wrapped } from "./wrapped.js";
import type { WrongBackend } from "./wrong-backend.js";

/** Reads a tensor from the start of its buffer instead of the start of its array. */
function fromTheBeginning<T>(given: T): T {
  if (!isTensor(given)) return given;
  const { dtype, shape, data } = given;
  if (data.constructor !== hostArrayOf[dtype]) return given;
  const read = new hostArrayOf[dtype](data.buffer as ArrayBuffer, 0, data.length);
  return { dtype, shape, data: read } as T;
}

/** Takes two inputs in parts of one buffer for the same tensor. */
const takesPartsForOne = (): Promise<Backend> =>
  running((run) => (inputs) => {
    const known = new Map<unknown, HostTensor>();
    return run(
      mapped(inputs, (input) => {
        if (!isTensor(input)) return input;
        const { buffer } = input.data;
        const same = known.get(buffer);
        if (same === undefined || same.data.length !== input.data.length || same.dtype !== input.dtype) {
          known.set(buffer, input);
          return input;
        }
        return { ...input, data: same.data } as HostTensor;
      }),
    );
  });

/** Uploads of one array share a storage, which is freed with the first of their handles. */
async function sharesStorages(): Promise<Backend> {
  const backend = await reference();
  const storages = new WeakMap<object, { readonly tensor: HostTensor; ended: boolean }>();
  const behind = new WeakMap<object, { readonly tensor: HostTensor; ended: boolean }>();
  return wrapped(backend, {
    upload: async (given, right) => {
      const handle = await right(given);
      const known = storages.get(given);
      const storage =
        known === undefined || known.ended || !isSame(known.tensor, given)
          ? { tensor: given, ended: false }
          : known;
      storages.set(given, storage);
      const outer: Handle = {
        dtype: handle.dtype,
        shape: handle.shape,
        dispose: () => {
          handle.dispose();
          storage.ended = true;
        },
      };
      behind.set(outer, storage);
      inner.set(outer, handle);
      return outer;
    },
    executable: (executable) => ({
      run: (inputs) => executable.run(mapped(inputs, (input) => inner.get(input) ?? input)),
    }),
    members: {
      download: async (handle) => {
        const got = await backend.download(inner.get(handle) ?? handle);
        if (behind.get(handle)?.ended === true) overwrite(got);
        return got;
      },
    },
  });
}
const inner = new WeakMap<object, Handle>();
const isSame = (a: HostTensor, b: HostTensor): boolean => a.data === b.data;

const NUMBERS = ["f32", "i32", "u8"] as const;

export const viewFaults: readonly WrongBackend[] = [
  {
    fault: "runs read a view from the beginning of its buffer",
    factory: () => running((run) => (inputs) => run(mapped(inputs, fromTheBeginning))),
    axes: ["aliasing", "lifecycle", "repeat"],
    named: NUMBERS.map((dtype) => `aliasing/${dtype}/runs-read-a-view-where-it-is`),
    consequences: [/^aliasing\/\w+\/(runs-read-a-view-where-it-is|one-array-under-two-inputs)$/],
    message: /of views that begin at element|of two parts of one buffer/,
  },
  {
    fault: "states are made of a view from the beginning of its buffer",
    factory: async () =>
      wrapped(await reference(), { createState: (values, right) => right(mapped(values, fromTheBeginning)) }),
    axes: ["aliasing", "state", "transfer"],
    named: NUMBERS.map((dtype) => `aliasing/${dtype}/states-read-a-view-where-it-is`),
    consequences: [
      /^aliasing\/\w+\/states-read-a-view-where-it-is$/,
      /^transfer\/\w+\/views-are-read-where-they-are$/,
    ],
    message: /created of a view|a new state of \d+ elements after/,
  },
  {
    fault: "writes behind a run read a view from the beginning of its buffer",
    factory: async () => {
      const busy = new WeakMap<object, number>();
      return wrapped(await reference(), {
        state: (state) => ({
          write: (values) =>
            state.write((busy.get(state) ?? 0) > 0 ? mapped(values, fromTheBeginning) : values),
        }),
        executable: (executable, { inner: state }) => ({
          run: async (inputs) => {
            if (state !== undefined) busy.set(state, (busy.get(state) ?? 0) + 1);
            try {
              return await executable.run(inputs);
            } finally {
              if (state !== undefined) busy.set(state, (busy.get(state) ?? 0) - 1);
            }
          },
        }),
      });
    },
    axes: ["aliasing", "state", "transfer", "order"],
    named: NUMBERS.map((dtype) => `aliasing/${dtype}/states-read-a-view-where-it-is`),
    consequences: [/^aliasing\/\w+\/states-read-a-view-where-it-is$/],
    message: /written of a view behind a run/,
  },
  {
    fault: "two parts of one buffer are taken for one tensor",
    factory: takesPartsForOne,
    axes: ["aliasing", "lifecycle", "op"],
    among: /^(aliasing|lifecycle)\/|^op\/(Add|Mul|Where)-/,
    named: NUMBERS.map((dtype) => `aliasing/${dtype}/one-array-under-two-inputs`),
    consequences: [/^aliasing\/\w+\/one-array-under-two-inputs$/],
    message: /of two parts of one buffer/,
  },
  {
    fault: "handles of one array end together",
    factory: sharesStorages,
    axes: ["aliasing", "transfer"],
    named: NUMBERS.map((dtype) => `aliasing/${dtype}/one-array-uploaded-twice-is-two-handles`),
    consequences: [/^aliasing\/\w+\/one-array-uploaded-twice-is-two-handles$/],
    message: /after another of the same array ended/,
  },
];
