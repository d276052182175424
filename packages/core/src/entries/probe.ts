/** `@mp/core/probe`: `@mp/graph/probe`. */
export * from "@mp/graph/probe";
