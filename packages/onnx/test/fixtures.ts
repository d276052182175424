import { readFileSync } from "node:fs";

export const FIXTURES = ["mlp", "dtypes", "attributes", "dynamic", "function"] as const;

/** Bytes of a model that `fixtures/make.py` wrote with Python's onnx. */
export function fixture(name: string): Uint8Array {
  return readFileSync(new URL(`fixtures/${name}.onnx`, import.meta.url));
}
