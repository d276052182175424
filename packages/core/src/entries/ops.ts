/** `@mp/core/ops`: `@mp/graph/ops`. */
export * from "@mp/graph/ops";
