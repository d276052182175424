import { MpError } from "@mp/graph";
import { shown } from "@mp/graph/internal";

/** Refuses what one side has and the other cannot express, by its name. */
export function inexpressible(what: string, field: string, value: unknown, why: string): never {
  throw new MpError("MP_UNSUPPORTED", `${what}: ${field} is ${shown(value)}, ${why}`, {
    details: { field, value },
  });
}
