/** `@mp/core/reference`: `@mp/graph/reference`. */
export * from "@mp/graph/reference";
