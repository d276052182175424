import { isTensor, MpError, type Tensor } from "@mp/core";

/** @throws MP_INVALID_ARGUMENT for what is no traced tensor: a name that the batch does not have, host data */
export function expectTensor(what: string, value: unknown): asserts value is Tensor {
  if (isTensor(value)) return;
  const got = typeof value === "object" && value !== null ? "an object" : String(value);
  // The trainer adds what the batch has where a name is not there.
  const details = value === undefined ? { got } : {};
  throw new MpError("MP_INVALID_ARGUMENT", `${what}: takes a traced tensor, got ${got}`, { details });
}
