/**
 * `node dist/half-products.js`: the errors of float16 products on ONNX Runtime's WebGPU provider, computed in float32, in
 * float16, and in blocks of the inner dimension that are accumulated in float32.
 */
import { exactProduct, relativeLoss } from "./half-products/loss.js";
import { DRAWINGS, drawOperands } from "./half-products/operands.js";
import { BLOCKS, METHODS, multiply } from "./half-products/products.js";
import { trafficRows } from "./half-products/traffic.js";

const INNER = [64, 256, 1024, 4096];
/** Rows and columns of every product. */
const SIDE = 64;

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;

console.log(row(["product", "inner", ...METHODS.map(({ name }) => name)]));
console.log(row(["---", "---", ...METHODS.map(() => "---")]));
for (const drawing of DRAWINGS)
  for (const inner of INNER) {
    const operands = drawOperands(drawing, SIDE, inner);
    const exact = exactProduct(operands);
    const cells: string[] = [];
    for (const method of METHODS) {
      cells.push(relativeLoss(await multiply(operands, method), exact).toPrecision(3));
    }
    console.log(row([drawing.name, inner, ...cells]));
  }

const columns = ["f32", "f16 in f32", "f16", ...BLOCKS.map((block) => `blocks of ${block}`)];
console.log(
  row([
    "step",
    "GFLOP",
    ...columns.map((name) => `${name}, GB`),
    ...BLOCKS.map((block) => `parts of ${block}, GB`),
  ]),
);
for (const cells of trafficRows(BLOCKS)) console.log(row(cells));
