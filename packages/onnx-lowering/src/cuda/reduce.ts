import { anyOf, extremeKeepingNaN } from "../lowerings/nan.js";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "../lowerings/own-lowering.js";

/** The kernels of f32 start from the last finite number, and give it where all elements are the infinity beyond it. */
const extremeOfInfinities: OwnLowering<"ReduceMax" | "ReduceMin"> = (node, operands, writer, standard) => {
  const { axes, keepdims } = node.attributes;
  if (operandType(node).dtype !== "f32") return undefined;
  const isMost = node.op === "ReduceMax";
  const start = writer.scalar(isMost ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY, "f32");
  return extremeKeepingNaN(node, operands, writer, (given) => {
    const isFurther = writer.one(isMost ? "Greater" : "Less", [at(given, 0), start]);
    const isAny = anyOf(writer.cast(isFurther, "f32"), axes, keepdims, writer);
    return [writer.one("Where", [isAny, at(standard(given), 0), start])];
  });
};

export const reduceLowerings: OwnLoweringsOf<"reduce"> = {
  ReduceMax: extremeOfInfinities,
  ReduceMin: extremeOfInfinities,
};
