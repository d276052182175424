/** `@mp/core/backend`, which exports what `@mp/graph/backend` does. */
export * from "@mp/graph/backend";
