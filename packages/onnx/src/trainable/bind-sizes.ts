import { type DType, formatShape, MpError, type Shape } from "@mp/graph";
import type { OnnxValueInfo } from "../model.js";
import { quote } from "../problem.js";

/** Finds, from the inputs' shapes, the sizes that a model leaves open. @throws MP_SHAPE_MISMATCH */
export function bindSizes(
  inputs: readonly OnnxValueInfo[],
  given: Readonly<Record<string, { readonly shape: Shape; readonly dtype: DType }>>,
): Readonly<Record<string, number>> {
  // A Map, because the file's names may be those of an object's own members.
  const sizes = new Map<string, number>();
  for (const { name, type } of inputs) {
    const declared = type?.shape;
    // The reader refuses an input without a shape.
    if (declared === undefined) continue;
    const { shape } = given[name] as { readonly shape: Shape };
    const fits =
      declared.length === shape.length &&
      declared.every((size, axis) => {
        if (typeof size === "number") return size === shape[axis];
        const key = size === "" ? `${name}[${axis}]` : size;
        if (!sizes.has(key)) sizes.set(key, shape[axis] as number);
        return sizes.get(key) === shape[axis];
      });
    if (fits) continue;
    const wanted = declared.map((size) => (size === "" ? "?" : size)).join(", ");
    const bound = [...sizes].map(([key, size]) => `${key} = ${size}`);
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `fromOnnx: input ${quote(name)} must be [${wanted}], got ${formatShape(shape)}${bound.length > 0 ? `, where ${bound.join(", ")}` : ""}`,
      { details: { input: name, shape: [...shape] } },
    );
  }
  return Object.fromEntries(sizes);
}
