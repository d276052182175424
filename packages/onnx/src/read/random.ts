import { foldIn, type Key, key, type Shape, type Tensor } from "@mp/core";
import { add, cast, mul, randomBernoulli, randomNormal, randomUniform } from "@mp/core/ops";
import { dtypeOfCode } from "./node/dtype-of-code.js";
import type { Draw, NodeReader, ReadNode } from "./node/node-reader.js";
import { traced } from "./node/traced.js";

/** The numbers of a stream: true with the probability 1 - rate, standard normal, or uniform in [0, 1). */
export function drawnFrom(stream: Key, draw: Draw, shape: Shape): Tensor {
  if (draw.kind === "mask") return randomBernoulli(stream, 1 - draw.rate, shape);
  return draw.kind === "normal" ? randomNormal(stream, shape) : randomUniform(stream, shape);
}

/** ONNX names a distribution by where it begins and how wide it is. */
interface Placement {
  readonly begin: number;
  readonly width: number;
}

function placementOf(reader: NodeReader, kind: "normal" | "uniform"): Placement {
  if (kind === "normal") return { begin: reader.float("mean", 0), width: reader.float("scale", 1) };
  const low = reader.float("low", 0);
  return { begin: low, width: reader.float("high", 1) - low };
}

/** The stream of a node is that of its first output's name; a seed in the file names none of ours. */
function noise(kind: "normal" | "uniform", isLike: boolean): ReadNode {
  return (reader) => {
    if (reader.hasAttribute("seed")) reader.float("seed");
    const type = isLike ? reader.typeOf(0) : undefined;
    const shape = type?.shape ?? reader.ints("shape") ?? reader.unsupported("has no shape");
    const dtype = reader.hasAttribute("dtype")
      ? dtypeOfCode(reader, reader.int("dtype"))
      : (type?.dtype ?? "f32");
    const { begin, width } = placementOf(reader, kind);
    const draw = { kind };
    const given = reader.drawn(draw, shape);
    const placed = (drawn: Tensor): Tensor => cast(add(mul(drawn, width), begin), dtype);
    const stream = foldIn(key(0), reader.node.outputs[0] ?? "");
    return [
      given === undefined
        ? traced(reader, [], () => placed(drawnFrom(stream, draw, shape)))
        : traced(reader, [given], placed),
    ];
  };
}

export const randomReaders: ReadonlyMap<string, ReadNode> = new Map([
  ["RandomNormal", noise("normal", false)],
  ["RandomNormalLike", noise("normal", true)],
  ["RandomUniform", noise("uniform", false)],
  ["RandomUniformLike", noise("uniform", true)],
]);
