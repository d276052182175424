/** `@mp/core/ops`, which exports what `@mp/graph/ops` does. */
export * from "@mp/graph/ops";
