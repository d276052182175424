/** `@mp/core/backend`: `@mp/graph/backend`. */
export * from "@mp/graph/backend";
