import { arrayClassOf, classNameOf, invalid } from "@mp/graph/internal";
import { load, save } from "@mp/safetensors";
import { asMpError } from "./format-error.js";
import { fromFormat, type LoadedTensors, toFormat } from "./format-tensors.js";

/** @throws MP_INVALID_ARGUMENT for anything but a `Uint8Array` */
export function checkBytes(what: string, bytes: unknown): asserts bytes is Uint8Array {
  if (arrayClassOf(bytes) === "Uint8Array") return;
  throw invalid(`${what}: takes the bytes of a checkpoint as Uint8Array, got ${classNameOf(bytes)}`);
}

/** Encodes tensors as the bytes of the file that `saveTensors` writes, in new memory. */
export function bytesOfTensors({ tensors, metadata }: LoadedTensors): Uint8Array<ArrayBuffer> {
  try {
    return save(toFormat(tensors), metadata);
  } catch (error) {
    throw asMpError(error);
  }
}

/**
 * Decodes all tensors into new memory.
 * @throws MP_PARSE for bytes that are damaged or of another format, MP_UNSUPPORTED for a dtype that the SDK lacks
 */
export function tensorsOfBytes(bytes: Uint8Array): LoadedTensors {
  try {
    return fromFormat(load(bytes));
  } catch (error) {
    throw asMpError(error);
  }
}
