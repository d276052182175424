// Ops that only rearrange elements: strided reads of the operand.
import type { OpOf } from "../../graph/families.js";
import { stridesOf } from "../../shape.js";
import type { Arithmetic } from "../elements/arithmetic.js";
import { outputType, type ReferenceTable } from "../elements/kernel.js";
import { type Operand, operand, readElements, type Store } from "../elements/store.js";
import { broadcastStrides, countElements, forEachRun, viewOfAxis } from "../elements/strided.js";

function readStrided(
  x: Operand,
  start: number,
  shape: readonly number[],
  strides: readonly number[],
  arithmetic: Arithmetic,
): readonly Store[] {
  const out = arithmetic.allocate(x.dtype, countElements(shape));
  const from = readElements(x.data);
  const to = readElements(out);
  forEachRun(shape, [strides], ([at = 0], [step = 0], length, position) => {
    if (step === 1) {
      to.set(from.subarray(start + at, start + at + length), position);
    } else {
      for (let k = 0; k < length; k++) to[position + k] = from[start + at + k * step] as number;
    }
  });
  return [out];
}

const same = (inputs: readonly Operand[]): readonly Store[] => [operand(inputs, 0).data];

export const movementKernels: ReferenceTable<OpOf<"movement">> = {
  Reshape: same,
  Squeeze: same,
  Unsqueeze: same,
  Transpose: (inputs, { perm }, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const own = stridesOf(x.shape);
    const strides = perm.map((axis) => own[axis] as number);
    return readStrided(x, 0, outputType(outputs).shape, strides, arithmetic);
  },
  Slice: (inputs, { starts, axes, steps }, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const strides = stridesOf(x.shape);
    let start = 0;
    axes.forEach((axis, index) => {
      const stride = strides[axis] as number;
      start += (starts[index] as number) * stride;
      strides[axis] = stride * (steps[index] as number);
    });
    return readStrided(x, start, outputType(outputs).shape, strides, arithmetic);
  },
  Expand: (inputs, _, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const { shape } = outputType(outputs);
    return readStrided(x, 0, shape, broadcastStrides(x.shape, shape), arithmetic);
  },
  Tile: (inputs, { repeats }, _, arithmetic) => {
    const x = operand(inputs, 0);
    const own = stridesOf(x.shape);
    // Each axis becomes two: the repeats, which have stride 0, and the axis itself.
    const shape = x.shape.flatMap((size, axis) => [repeats[axis] as number, size]);
    const strides = own.flatMap((stride) => [0, stride]);
    return readStrided(x, 0, shape, strides, arithmetic);
  },
  Concat: (inputs, { axis }, outputs, arithmetic) => {
    const { dtype, shape } = outputType(outputs);
    const out = arithmetic.allocate(dtype, countElements(shape));
    const whole = viewOfAxis(shape, axis);
    let done = 0;
    for (const input of inputs) {
      const from = readElements(input.data);
      const part = (input.shape[axis] as number) * whole.inner;
      for (let block = 0; block < whole.outer; block++) {
        const position = block * whole.size * whole.inner + done;
        readElements(out).set(from.subarray(block * part, (block + 1) * part), position);
      }
      done += part;
    }
    return [out];
  },
  Split: (inputs, { axis, split }, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const strides = stridesOf(x.shape);
    let start = 0;
    return outputs.map((type, index) => {
      const [part] = readStrided(x, start * (strides[axis] as number), type.shape, strides, arithmetic);
      start += split[index] as number;
      return part as Store;
    });
  },
  Pad: (inputs, { pads, mode, value }, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const { dtype, shape } = outputType(outputs);
    const out = arithmetic.allocate(dtype, countElements(shape));
    fill(out, arithmetic.value(dtype, value));
    const strides = stridesOf(x.shape);
    // For each axis, the offset in the operand for each coordinate of the result; -1 for padding.
    const maps = shape.map((size, axis) => {
      const before = pads[axis] as number;
      const length = x.shape[axis] as number;
      return Array.from({ length: size }, (_, at) => {
        const source = sourceOf[mode](at - before, length);
        return source < 0 ? -1 : source * (strides[axis] as number);
      });
    });
    copyMapped(readElements(x.data), readElements(out), maps);
    return [out];
  },
};

const sourceOf: Readonly<Record<"constant" | "reflect" | "edge", (at: number, length: number) => number>> = {
  constant: (at, length) => (at < length ? at : -1),
  edge: (at, length) => Math.min(Math.max(at, 0), length - 1),
  reflect: (at, length) => (at < 0 ? -at : at < length ? at : 2 * (length - 1) - at),
};

function copyMapped(from: Float64Array, to: Float64Array, maps: readonly (readonly number[])[]): void {
  let position = 0;
  const visit = (axis: number, start: number): void => {
    const map = maps[axis];
    if (map === undefined) {
      if (start >= 0) to[position] = from[start] as number;
      position++;
      return;
    }
    for (const step of map) visit(axis + 1, start < 0 || step < 0 ? -1 : start + step);
  };
  visit(0, 0);
}

function fill(out: Store, value: number): void {
  if (out instanceof BigInt64Array || out instanceof BigUint64Array) out.fill(BigInt(value));
  else out.fill(value);
}
