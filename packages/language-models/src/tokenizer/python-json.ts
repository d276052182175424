import { isPlainObject } from "@mp/graph/internal";

/**
 * Writes plain data as JSON for Python, which also reads `NaN`, `Infinity` and integers of any size. Undefined fields are
 * left out. Other values, such as images, become their type in angle brackets, as in transformers.
 */
export function toPythonJson(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (["number", "bigint", "boolean"].includes(typeof value)) return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${Array.from(value, toPythonJson).join()}]`;
  if (!isPlainObject(value)) return JSON.stringify(`<${Object(value).constructor?.name}>`);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${toPythonJson(field)}`).join()}}`;
}
