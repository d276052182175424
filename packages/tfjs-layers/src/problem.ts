import { MpError } from "@mp/graph";

/** Quotes a name, and truncates a long one. */
export const quote = (name: string): string =>
  JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);

/** Throws MP_PARSE for a file that is not a well-formed LayersModel. */
export function refuseFile(problem: string, details: Readonly<Record<string, unknown>> = {}): never {
  throw new MpError("MP_PARSE", `fromTfjs: ${problem}`, { details });
}

/** Throws MP_INVALID_ARGUMENT. */
export function refuseArgument(problem: string): never {
  throw new MpError("MP_INVALID_ARGUMENT", `fromTfjs: ${problem}`);
}

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
