import { MpError } from "@mp/graph";
import { shown } from "@mp/graph/internal";

/** Refuses a value that the other framework cannot express, naming its field. */
export function inexpressible(what: string, field: string, value: unknown, why: string): never {
  throw new MpError("MP_UNSUPPORTED", `${what}: ${field} is ${shown(value)}, ${why}`, {
    details: { field, value },
  });
}
