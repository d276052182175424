// ONNX's discrete Fourier transforms, as products with tables of cosines and sines.
import { type Tensor, tensor } from "@mp/core";
import {
  add,
  cast,
  concat,
  constant,
  gather,
  matMul,
  mul,
  pad,
  range,
  reshape,
  slice,
  sub,
  transpose,
  unsqueeze,
} from "@mp/core/ops";
import { axisOf } from "../node/axis.js";
import type { NodeReader, ReadNode } from "../node/node-reader.js";
import { scalarOperand } from "../node/scalar-operand.js";
import { expectTable } from "../node/table-limit.js";
import { traced } from "../node/traced.js";

interface Transform {
  /** Of the signal, and of the transform. */
  readonly length: number;
  /** Frequencies, or places of the inverse, that are computed. */
  readonly kept: number;
  readonly isInverse: boolean;
}

/** cos or sin of 2π · at · frequency / length, [length, kept]; the inverse divides by the length. */
function waves({ length, kept, isInverse }: Transform, wave: (angle: number) => number): Tensor {
  const scale = isInverse ? 1 / length : 1;
  const values = Float32Array.from({ length: length * kept }, (_, index) => {
    const turns = (Math.floor(index / kept) * (index % kept)) % length;
    return scale * wave((2 * Math.PI * turns) / length);
  });
  return constant(tensor(values, [length, kept]));
}

/** The real or imaginary part, without their axis. */
function partOf(x: Tensor, part: number): Tensor {
  const last = x.shape.length - 1;
  return reshape(slice(x, [{ axis: last, start: part, end: part + 1 }]), x.shape.slice(0, -1));
}

/** Cut, or filled with zeros. */
function ofLength(x: Tensor, length: number): Tensor {
  const last = x.shape.length - 1;
  const size = x.shape[last] as number;
  if (size >= length) return slice(x, [{ axis: last, start: 0, end: length }]);
  return pad(
    x,
    x.shape.map((_, axis): [number, number] => [0, axis === last ? length - size : 0]),
  );
}

/** Of signals along the last axis, whose imaginary part may be missing: [real, imaginary] of the transform. */
function transformed(real: Tensor, imaginary: Tensor | undefined, how: Transform): readonly [Tensor, Tensor] {
  const [cosines, sines] = [waves(how, Math.cos), waves(how, Math.sin)];
  // By e^(-i·angle), in the inverse e^(i·angle).
  const [re, im] = [matMul(real, cosines), mul(matMul(real, sines), how.isInverse ? 1 : -1)];
  if (imaginary === undefined) return [re, im];
  const crossed = matMul(imaginary, sines);
  return [how.isInverse ? sub(re, crossed) : add(re, crossed), add(im, matMul(imaginary, cosines))];
}

/** The other half of the frequencies of a real signal, which are conjugates of the first ones. */
function withConjugates(real: Tensor, imaginary: Tensor, length: number): readonly [Tensor, Tensor] {
  const last = real.shape.length - 1;
  const half = Math.floor(length / 2) + 1;
  const mirrored = (x: Tensor, sign: number): Tensor => {
    const first = ofLength(x, half);
    const others = range(length - half, 0, { delta: -1 });
    return concat([first, mul(gather(first, others, last), sign)], last);
  };
  return [mirrored(real, 1), mirrored(imaginary, -1)];
}

function lengthOf(reader: NodeReader, index: number, otherwise: number): number {
  const length =
    (reader.isGiven(index) ? scalarOperand(reader, index, "the length") : undefined) ?? otherwise;
  if (length < 1) return reader.unsupported(`transforms a signal of ${length}`);
  expectTable(reader, length, length);
  return length;
}

export const dft: ReadNode = (reader) => {
  const x = reader.operand(0);
  const rank = x.shape.length;
  const given = reader.version >= 20 ? (scalarOperand(reader, 2, "the axis") ?? -2) : reader.int("axis", 1);
  const axis = axisOf(reader, given, rank);
  const [isInverse, isOneSided] = [reader.int("inverse", 0) !== 0, reader.int("onesided", 0) !== 0];
  const parts = x.shape[rank - 1] ?? 0;
  if (axis === rank - 1 || parts < 1 || parts > 2)
    return reader.unsupported(`transforms [${x.shape}] along axis ${axis}`);
  const size = x.shape[axis] as number;
  const fromHalf = isInverse && isOneSided;
  const length = lengthOf(reader, 1, fromHalf ? 2 * (size - 1) : size);
  const kept = isOneSided && !isInverse ? Math.floor(length / 2) + 1 : length;
  return [
    traced(reader, [x], (signal) => {
      const perm = Array.from({ length: rank - 1 }, (_, each) => each);
      [perm[axis], perm[rank - 2]] = [rank - 2, axis];
      const [real, imaginary] = [0, 1]
        .slice(0, parts)
        .map((part) => transpose(cast(partOf(signal, part), "f32"), perm));
      const how = { length, kept, isInverse };
      const [re, im] = fromHalf
        ? transformed(...withConjugates(real as Tensor, imaginary ?? mul(real as Tensor, 0), length), how)
        : transformed(ofLength(real as Tensor, length), imaginary && ofLength(imaginary, length), how);
      const results = (fromHalf ? [re] : [re, im]).map((part) =>
        unsqueeze(transpose(part, perm), [rank - 1]),
      );
      return cast(concat(results, rank - 1), signal.dtype);
    }),
  ];
};

/** Transforms of pieces of a signal [batch, time, 1 or 2], one piece each `step`. */
export const stft: ReadNode = (reader) => {
  const signal = reader.operand(0);
  const window = reader.optional(2);
  const step = scalarOperand(reader, 1, "the step") ?? reader.unsupported("has no step");
  const [, time = 0, parts = 0] = signal.shape;
  const length = lengthOf(reader, 3, window?.shape[0] ?? time);
  const pieces = 1 + Math.floor((time - length) / step);
  if (
    signal.shape.length !== 3 ||
    parts < 1 ||
    parts > 2 ||
    step < 1 ||
    pieces < 1 ||
    (window?.shape[0] ?? length) !== length
  )
    return reader.unsupported(`takes pieces of ${length} from [${signal.shape}]`);
  expectTable(reader, pieces, length);
  const kept = reader.int("onesided", 1) !== 0 ? Math.floor(length / 2) + 1 : length;
  return [
    traced(reader, [signal, ...(window === undefined ? [] : [window])], (x: Tensor, weights?: Tensor) => {
      const places = Int32Array.from(
        { length: pieces * length },
        (_, at) => Math.floor(at / length) * step + (at % length),
      );
      const at = constant(tensor(places, [pieces, length]));
      const [real, imaginary] = [0, 1].slice(0, parts).map((part) => {
        const piece = gather(cast(partOf(x, part), "f32"), at, 1);
        return weights === undefined ? piece : mul(piece, cast(weights, "f32"));
      });
      const results = transformed(real as Tensor, imaginary, { length, kept, isInverse: false });
      return cast(
        concat(
          results.map((part) => unsqueeze(part, [3])),
          3,
        ),
        x.dtype,
      );
    }),
  ];
};
