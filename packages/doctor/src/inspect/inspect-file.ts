import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { MpError } from "@mp/core";
import { inspectCheckpoint } from "./checkpoint.js";
import type { Inspection } from "./inspection.js";
import { onSystem } from "./on-system.js";
import { inspectOnnx } from "./onnx.js";

/** Offset of the brace that opens the header of a safetensors file, after the header's length. */
const HEADER_AT = 8;
const BRACE = 0x7b;
/** The tag of `ir_version`, the first field of an ONNX file. */
const IR_VERSION = 0x08;

/**
 * Describes a checkpoint (or any safetensors file) or an ONNX model. Reads a checkpoint whole and checks its hash.
 * @throws MP_IO, SAFETENSORS_IO for a file that cannot be read
 * @throws MP_PARSE, SAFETENSORS_PARSE for a file that is damaged or of another format
 * @throws MP_UNSUPPORTED for a model with parts that `decodeModel` does not read
 */
export async function inspectFile(path: string): Promise<Inspection> {
  const start = firstBytes(path);
  const isOnnx = start[HEADER_AT] !== BRACE && (start[0] === IR_VERSION || path.endsWith(".onnx"));
  if (isOnnx) return inspectOnnx(path, modelBytes(path));
  if (start[HEADER_AT] === BRACE || path.endsWith(".safetensors")) return inspectCheckpoint(path);
  throw new MpError("MP_PARSE", `${path} is neither a checkpoint (safetensors) nor an ONNX model`, {
    details: { path },
  });
}

/** Size limit of an ONNX file; a larger model has its data in other files. */
const MOST_ONNX_BYTES = 2 ** 31 - 1;

function modelBytes(path: string): Uint8Array {
  return onSystem(path, () => {
    const { size } = statSync(path);
    if (size <= MOST_ONNX_BYTES) return new Uint8Array(readFileSync(path));
    throw new MpError("MP_PARSE", `${path} has ${size} bytes, an ONNX model has less than 2 GiB`, {
      details: { path, size },
    });
  });
}

function firstBytes(path: string): Uint8Array {
  return onSystem(path, () => {
    // A read of a pipe might never end.
    if (!statSync(path).isFile()) throw Object.assign(new Error(), { code: "no regular file" });
    const file = openSync(path, "r");
    try {
      const bytes = new Uint8Array(HEADER_AT + 1);
      return bytes.subarray(0, readSync(file, bytes));
    } finally {
      closeSync(file);
    }
  });
}
