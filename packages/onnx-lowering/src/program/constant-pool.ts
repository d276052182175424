import { createHash } from "node:crypto";
import type { HostTensor } from "@mp/graph";
import type { BoundConstant } from "../bound-constants.js";
import type { EngineMemory, EngineTensor } from "./engine-memory.js";
import { rawBytes } from "./tensor-bytes.js";

/** A constant in the engine's memory; `release` ends one use of it. */
export interface PooledConstant<T> {
  readonly tensor: T;
  release(): void;
}

interface Entry<T> {
  readonly tensor: T;
  uses: number;
}

/** Shares constants by content. Executables of one backend that need the same constant share its memory. */
export class ConstantPool<T extends EngineTensor> {
  readonly #memory: EngineMemory<T>;
  readonly #entries = new Map<string, Entry<T>>();

  constructor(memory: EngineMemory<T>) {
    this.#memory = memory;
  }

  /** Acquires all constants, or none if it throws. @returns the pooled constants by name */
  acquireAll(constants: readonly BoundConstant[]): ReadonlyMap<string, PooledConstant<T>> {
    const acquired = new Map<string, PooledConstant<T>>();
    try {
      for (const { name, value } of constants) acquired.set(name, this.acquire(value));
      return acquired;
    } catch (error) {
      releaseConstants(acquired);
      throw error;
    }
  }

  acquire(value: HostTensor): PooledConstant<T> {
    const content = contentKey(value);
    const known = this.#entries.get(content);
    const entry = known ?? { tensor: this.#memory.upload(value), uses: 0 };
    if (known === undefined) this.#entries.set(content, entry);
    entry.uses++;
    return {
      tensor: entry.tensor,
      release: () => {
        entry.uses--;
        if (entry.uses > 0) return;
        this.#entries.delete(content);
        entry.tensor.release();
      },
    };
  }
}

/** Returns a program's constants to their pool, which frees those that no other program uses. */
export function releaseConstants<T>(constants: ReadonlyMap<string, PooledConstant<T>>): void {
  for (const constant of constants.values()) constant.release();
}

function contentKey({ dtype, shape, data }: HostTensor): string {
  return `${dtype} [${shape.join()}] ${createHash("sha256").update(rawBytes(data)).digest("base64")}`;
}
