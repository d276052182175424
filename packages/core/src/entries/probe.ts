/** `@mp/core/probe`, which exports what `@mp/graph/probe` does. */
export * from "@mp/graph/probe";
