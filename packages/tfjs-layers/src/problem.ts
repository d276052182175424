import { MpError } from "@mp/graph";

/** A name in quotes, cut where it is long. */
export const quote = (name: string): string =>
  JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);

/** @throws MP_PARSE: the file is not what a LayersModel is */
export function refuseFile(problem: string, details: Readonly<Record<string, unknown>> = {}): never {
  throw new MpError("MP_PARSE", `fromTfjs: ${problem}`, { details });
}

/** @throws MP_INVALID_ARGUMENT */
export function refuseArgument(problem: string): never {
  throw new MpError("MP_INVALID_ARGUMENT", `fromTfjs: ${problem}`);
}

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
