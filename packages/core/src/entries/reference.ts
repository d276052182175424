/** `@mp/core/reference`, which exports what `@mp/graph/reference` does. */
export * from "@mp/graph/reference";
