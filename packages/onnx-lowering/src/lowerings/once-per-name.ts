import type { NodeWriter } from "@mp/onnx/write";

/** Emits a value derived from the value `name`. @returns the name of the new value */
export type EmitFrom = (name: string, writer: NodeWriter) => string;

/** Makes `emit` run at most once for each name of a model, so that all readers share the derived value. */
export function oncePerName(emit: EmitFrom): EmitFrom {
  const made = new WeakMap<NodeWriter, Map<string, string>>();
  return (name, writer) => {
    const names = made.get(writer) ?? new Map<string, string>();
    made.set(writer, names);
    const result = names.get(name) ?? emit(name, writer);
    names.set(name, result);
    return result;
  };
}
