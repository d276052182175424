import { MpError } from "../errors.js";

/** @throws MP_INVALID_ARGUMENT for a value that cannot be a path: the system's own error has no code */
export function checkPath(what: string, path: unknown): asserts path is string {
  if (typeof path === "string" && path !== "" && !path.includes("\0")) return;
  const got = typeof path === "string" ? JSON.stringify(path) : String(path);
  throw new MpError("MP_INVALID_ARGUMENT", `${what}: takes the path of a file, got ${got}`);
}
