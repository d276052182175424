/**
 * Sorts with kernels that pad with extreme values and reorder equal elements. Sort keys are therefore f64 or
 * i64 and never extreme. The keys of the last sort combine rank and position, so that they are distinct.
 */
import { isComputeFloat } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { toSigned } from "../lowerings/integers.js";
import { beyondNumbers, doubleKeys } from "../lowerings/nan.js";
import { sort } from "../lowerings/operators.js";
import { at, type OwnLowering, operandType } from "../lowerings/own-lowering.js";

const WORD = 2 ** 32;

/** Sorts keys along one axis, in ascending order. */
class Sorting {
  readonly #axis: number;
  readonly #size: number;
  readonly #writer: NodeWriter;

  constructor(axis: number, size: number, writer: NodeWriter) {
    this.#axis = axis;
    this.#size = size;
    this.#writer = writer;
  }

  along(values: string, places: string): string {
    return this.#writer.one("GatherElements", [values, places], { axis: int(this.#axis) });
  }

  /** Positions of the `count` smallest keys, i64. */
  least(keys: string, count: number): string {
    return sort(keys, count, { axis: this.#axis, largest: false }, this.#writer)[1];
  }

  /** For each sorted key, the number of distinct keys that are smaller, i64. */
  ranks(sorted: string): string {
    const part = (from: number, to: number): string =>
      this.#writer.one("Slice", [
        sorted,
        ...[from, to, this.#axis].map((number) => this.#writer.ints([number])),
      ]);
    const first = part(0, 1);
    const before = this.#writer.one("Concat", [first, part(0, this.#size - 1)], { axis: int(this.#axis) });
    const isNew = this.#writer.one("Less", [before, sorted]);
    return this.#writer.one("CumSum", [
      this.#writer.cast(isNew, "i64"),
      this.#writer.scalar(this.#axis, "i64"),
    ]);
  }

  /** ranks · factor + others, i64. */
  join(ranks: string, factor: number, others: string): string {
    const multiple = this.#writer.one("Mul", [ranks, this.#writer.scalar(factor, "i64")]);
    return this.#writer.one("Add", [multiple, others]);
  }
}

/** Sort keys of an i64 tensor, most significant first; two words if `isWide`, so that no key is extreme. */
function integerKeys(x: string, isWide: boolean, writer: NodeWriter): readonly string[] {
  if (!isWide) return [x];
  const word = writer.scalar(WORD, "i64");
  const low = writer.one("Mod", [x, word], { fmod: int(0) });
  return [writer.one("Div", [writer.one("Sub", [x, low]), word]), low];
}

/** -1 - x, which reverses the order without overflow. */
const complement = (x: string, writer: NodeWriter): string =>
  writer.one("Sub", [writer.scalar(-1, "i64"), x]);

export const topK: OwnLowering<"TopK"> = (node, operands, writer) => {
  const { axis, k, largest } = node.attributes;
  const { dtype, shape } = operandType(node);
  const size = shape[axis] ?? 0;
  const x = at(operands, 0);
  const sorting = new Sorting(axis, size, writer);
  const sortKeys = (): readonly string[] => {
    if (isComputeFloat(dtype)) {
      const keys = writer.one("Max", [doubleKeys(x, writer), beyondNumbers(-1, writer)]);
      return [largest ? writer.one("Neg", [keys]) : keys];
    }
    const whole = dtype === "u64" ? toSigned(x, writer) : writer.cast(x, "i64");
    return integerKeys(
      largest ? complement(whole, writer) : whole,
      dtype === "i64" || dtype === "u64",
      writer,
    );
  };
  const [first = "", ...others] = sortKeys();
  let order = sorting.least(first, size);
  let ranks = sorting.ranks(sorting.along(first, order));
  for (const key of others) {
    const joined = sorting.join(ranks, WORD, sorting.along(key, order));
    const next = sorting.least(joined, size);
    order = sorting.along(order, next);
    ranks = sorting.ranks(sorting.along(joined, next));
  }
  const chosen = sorting.least(sorting.join(ranks, size, order), k);
  const places = sorting.along(order, chosen);
  return [sorting.along(x, places), writer.cast(places, "i32")];
};
