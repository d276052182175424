/** Binds functions of a native library from a table of their parameters. Knows nothing about ranks. */
import type { MpError } from "@mp/graph";
import koffi from "koffi";

interface ParameterTypes {
  /** Memory that the library reads or writes: the caller's, an address, or null. */
  memory: ArrayBufferView | bigint | null;
  /** A pointer whose value the library gave or fixed: a communicator, a data type, a stream. */
  handle: bigint;
  int: number;
  uint: number;
  /** An integer of 64 bits: `MPI_Count`, `size_t`. */
  count: number;
  /** NCCL's identifier, a struct by value. */
  id: { readonly internal: readonly number[] };
}

type Parameters = readonly (keyof ParameterTypes)[];
type Arguments<P extends Parameters> = { -readonly [K in keyof P]: ParameterTypes[P[K]] };

/** Functions by name, with the types of their parameters. */
export type Signatures = Readonly<Record<string, Parameters>>;

/** Bound functions. They return a code, 0 for success, except those that return the text of a code. */
export type Functions<S extends Signatures> = {
  readonly [N in keyof S]: (...parameters: Arguments<S[N]>) => N extends "GetErrorString" ? string : number;
};

export const ID_TYPE = "mp_nccl_unique_id";

/** The name of each type in koffi. */
const NATIVE_TYPES: Readonly<Record<keyof ParameterTypes, string>> = {
  memory: "void *",
  handle: "void *",
  int: "int",
  uint: "uint",
  count: "int64_t",
  id: ID_TYPE,
};

/** Makes the error for a library that cannot be used. */
export type Unavailable = (path: string, problem: string, cause?: unknown) => MpError;

/**
 * Loads a library and binds the functions of a table, whose names in the library begin with `prefix`.
 * @throws the error of `unavailable`, for a library that does not load or lacks a function
 */
export function bindFunctions<S extends Signatures>(
  path: string,
  prefix: string,
  signatures: S,
  unavailable: Unavailable,
): Functions<S> {
  try {
    const library = koffi.load(path);
    const functions = Object.entries(signatures).map(([name, parameters]) => {
      const result = name === "GetErrorString" ? "const char *" : "int";
      const types = parameters.map((type) => NATIVE_TYPES[type]);
      return [name, library.func(`${prefix}${name}`, result, types)];
    });
    return Object.freeze(Object.fromEntries(functions)) as Functions<S>;
  } catch (cause) {
    throw unavailable(
      path,
      `does not load (${cause instanceof Error ? cause.message : String(cause)})`,
      cause,
    );
  }
}

interface Numbers<A> {
  new (buffer: ArrayBuffer): A;
  readonly BYTES_PER_ELEMENT: number;
}

/** Makes an array for a library to write to, with a buffer of its own, because V8 may move small arrays. */
export function cells<A>(type: Numbers<A>, length = 1): A {
  return new type(new ArrayBuffer(length * type.BYTES_PER_ELEMENT));
}
