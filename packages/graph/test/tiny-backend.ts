// A backend as a user would write one: f32, i32 and bool as plain number lists, a handful of kernels. It keeps
// account of every storage it ever made, so that tests can see what is released and when.

import { exactNumerics } from "../src/backend/manifest.js";
import type { Backend } from "../src/contract/backend.js";
import { type DType, hostArrayOf } from "../src/dtype.js";
import type { ValueType } from "../src/graph/graph.js";
import type { HostTensor } from "../src/host/host-tensor.js";
import type { Kernel, KernelTable } from "../src/kernel-backend/kernel.js";
import { kernelBackend } from "../src/kernel-backend/kernel-backend.js";

export class Storage {
  readonly numbers: readonly number[];
  constructor(numbers: readonly number[]) {
    this.numbers = numbers;
  }
}

export interface Tiny {
  readonly backend: Backend;
  readonly counts: { uploads: number; downloads: number; closed: number; maxLive: number };
  readonly live: ReadonlySet<Storage>;
  /** Names of kernels in the order in which they were called. */
  readonly calls: readonly string[];
}

export interface TinyOptions {
  readonly kernels?: (make: (numbers: readonly number[]) => Storage) => KernelTable<Storage>;
  readonly failUpload?: (tensor: HostTensor) => boolean;
  readonly failDownload?: () => boolean;
  /** Uploads resolve later, the first the latest. */
  readonly slow?: boolean;
}

export function tinyBackend(options: TinyOptions = {}): Tiny {
  const live = new Set<Storage>();
  const calls: string[] = [];
  const counts = { uploads: 0, downloads: 0, closed: 0, maxLive: 0 };
  const make = (numbers: readonly number[]): Storage => {
    const storage = new Storage(numbers);
    live.add(storage);
    counts.maxLive = Math.max(counts.maxLive, live.size);
    return storage;
  };
  const used = (storage: Storage): readonly number[] => {
    if (!live.has(storage)) throw new Error("used after its release");
    return storage.numbers;
  };
  const zip =
    (name: string, f: (a: number, b: number) => number): Kernel<unknown, Storage> =>
    ([a, b]) => {
      calls.push(name);
      if (a === undefined || b === undefined) throw new Error("needs two operands");
      const other = used(b.data);
      return [make(used(a.data).map((x, at) => f(x, other[other.length === 1 ? 0 : at] as number)))];
    };
  const later = async <R>(value: R): Promise<R> => {
    await new Promise((resolve) => setTimeout(resolve, 5 - Math.min(4, counts.uploads)));
    return value;
  };
  const f32: DType = "f32";
  const backend = kernelBackend<Storage>({
    name: "tiny",
    manifest: {
      engine: { name: "tiny", version: "1" },
      device: "cpu",
      dtypes: {
        f32: { storage: "f32", compute: "native" },
        f16: { storage: "f32", compute: "emulated" },
        i32: { storage: "i32", compute: "native" },
        bool: { storage: "bool", compute: "native" },
      },
      opDTypes: { Mul: [f32] },
      ...exactNumerics,
      tolerance: { default: { f32: 0, f16: 0, bf16: 0 } },
      eventLoop: "blocked-during-step",
    },
    kernels: {
      Add: zip("Add", (a, b) => Math.fround(a + b)),
      Mul: zip("Mul", (a, b) => Math.fround(a * b)),
      Less: zip("Less", (a, b) => (a < b ? 1 : 0)),
      Reshape: ([x]) => (x === undefined ? [] : [x.data]),
      Split: ([x], _, types) => {
        const numbers = used(x?.data as Storage);
        let from = 0;
        return types.map(({ shape: [size = 0] }) => {
          from += size;
          return make(numbers.slice(from - size, from));
        });
      },
      ...options.kernels?.(make),
    },
    upload: (tensor) => {
      if (options.failUpload?.(tensor) === true) throw new Error("no room");
      const storage = make(Array.from(tensor.data as Float32Array));
      counts.uploads++;
      return options.slow === true ? later(storage) : storage;
    },
    download: (storage, { dtype, shape }: ValueType) => {
      if (options.failDownload?.() === true) throw new Error("no way back");
      counts.downloads++;
      const data = new hostArrayOf[dtype as "f32"](used(storage).length);
      data.set(used(storage));
      return { dtype, shape, data } as HostTensor;
    },
    release: (storage) => {
      if (!live.delete(storage)) throw new Error("released twice");
    },
    close: () => {
      counts.closed++;
    },
  });
  return { backend, counts, live, calls };
}
