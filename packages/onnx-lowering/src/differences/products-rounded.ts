import { isNode, type Value } from "@mp/graph";
import type { ProducerOf } from "../lowerings/lower-node.js";
import { type OwnLowering, operandType } from "../lowerings/own-lowering.js";

/**
 * Multiplies products and quotients by 1 before they are added. An engine fuses a product with the sum if
 * nothing else reads the product. It then fuses the product by 1 instead, which is exact.
 */
export const sumOfRounded =
  (producerOf: ProducerOf): OwnLowering<"Add" | "Sub"> =>
  (node, operands, writer, standard) => {
    if (operandType(node).dtype !== "f32") return undefined;
    const isProduct = (value: Value): boolean => {
      const producer = producerOf(value);
      return producer !== undefined && (isNode(producer, "Mul") || isNode(producer, "Div"));
    };
    if (!node.inputs.some(isProduct)) return undefined;
    return standard(
      operands.map((name, index) => {
        const value = node.inputs[index];
        const isRead = value !== undefined && isProduct(value);
        return isRead ? writer.one("Mul", [name, writer.scalar(1, "f32")]) : name;
      }),
    );
  };
