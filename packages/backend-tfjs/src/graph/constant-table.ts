import { createHash } from "node:crypto";
import type { HostTensor } from "@mp/graph";
import { handleName } from "./handle-name.js";

/** The large constants of a program, kept in variables of its session; equal constants share a variable. */
export class ConstantTable {
  readonly #tensors = new Map<string, HostTensor>();

  /** The constants by the key of their variable, which depends only on the content. */
  get tensors(): ReadonlyMap<string, HostTensor> {
    return this.#tensors;
  }

  /** Adds a constant. @returns the name of its variable's handle */
  handle(value: HostTensor): string {
    const { dtype, shape, data } = value;
    const hash = createHash("sha256").update(`${dtype} [${shape.join()}] `);
    hash.update(new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength));
    const key = `constant-${hash.digest("hex").slice(0, 40)}`;
    this.#tensors.set(key, value);
    return handleName(key);
  }
}
