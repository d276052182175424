import { invalid, isPlainObject } from "@mp/graph/internal";

/** JSON values. Data cursors and callbacks' states are JSON, so that a checkpoint can hold them. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** @throws MP_INVALID_ARGUMENT naming the path of a value that JSON would drop or change in a file */
export function checkJson(value: unknown, place: string, depth = 0): asserts value is Json {
  const refuse = (got: string): never => {
    throw invalid(`${place}: is no JSON value, got ${got}`);
  };
  if (depth > 64) refuse("a value that is nested too deep");
  if (value === null || typeof value === "boolean" || typeof value === "string") return;
  if (typeof value === "number") {
    if (!Number.isFinite(value)) refuse(String(value));
    return;
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++)
      checkJson(value[index], `${place}/${index}`, depth + 1);
    return;
  }
  if (typeof value !== "object") return refuse(typeof value);
  if (!isPlainObject(value)) refuse(value.constructor?.name ?? "an object");
  for (const [key, child] of Object.entries(value)) checkJson(child, `${place}/${key}`, depth + 1);
}
