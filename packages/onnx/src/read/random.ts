import { foldIn, type Key, key, type Shape, type Tensor } from "@mp/graph";
import { asDraw } from "@mp/graph/internal";
import { add, cast, mul, randomBernoulli, randomNormal, randomUniform } from "@mp/graph/ops";
import type { Draw, NodeReader, ReadNode } from "./node/node-reader.js";

/** Draws bools that are true with probability 1 - rate, standard normal numbers, or uniform in [0, 1). */
export function randomNumbers(stream: Key, draw: Draw, shape: Shape): Tensor {
  if (draw.kind === "mask") return randomBernoulli(stream, 1 - draw.rate, shape);
  return draw.kind === "normal" ? randomNormal(stream, shape) : randomUniform(stream, shape);
}

type Kind = "normal" | "uniform";

/** Offset and factor of a distribution: mean and standard deviation, or `low` and `high` - `low`. */
function placement(reader: NodeReader, kind: Kind): { readonly begin: number; readonly width: number } {
  if (kind === "normal") return { begin: reader.float("mean", 0), width: reader.float("scale", 1) };
  const low = reader.float("low", 0);
  return { begin: low, width: reader.float("high", 1) - low };
}

/** Reads a random op. The name of its first output selects the random stream; the file's seed is ignored. */
function noise(kind: Kind, isLike: boolean): ReadNode {
  return (reader) => {
    if (reader.hasAttribute("seed")) reader.float("seed");
    const type = isLike ? reader.type(0) : undefined;
    const shape = type?.shape ?? reader.ints("shape") ?? reader.unsupported("has no shape");
    const dtype = reader.hasAttribute("dtype") ? reader.dtype("dtype") : (type?.dtype ?? "f32");
    const { begin, width } = placement(reader, kind);
    const place = (numbers: Tensor): Tensor =>
      cast(
        asDraw(() => add(mul(numbers, width), begin)),
        dtype,
      );
    const input = reader.randomInput({ kind }, shape);
    if (input !== undefined) return reader.compose([input], place);
    const stream = foldIn(key(0), reader.node.outputs[0] ?? "");
    return reader.compose([], () => place(randomNumbers(stream, { kind }, shape)));
  };
}

export const randomReaders: Readonly<Record<string, ReadNode>> = {
  RandomNormal: noise("normal", false),
  RandomNormalLike: noise("normal", true),
  RandomUniform: noise("uniform", false),
  RandomUniformLike: noise("uniform", true),
};
