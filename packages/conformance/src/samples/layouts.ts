/** Operands that are views when they reach a node, for engines that avoid copies. */
import {
  elementCount,
  type GraphBuilder,
  type HostTensor,
  hostArrayOf,
  type Shape,
  stridesOf,
  type Value,
} from "@mp/graph";

interface Layout {
  readonly applies: (shape: Shape) => boolean;
  /** The tensor to feed; `graph` emits the nodes that compute the operand from it. */
  readonly host: (tensor: HostTensor) => HostTensor;
  readonly graph: (builder: GraphBuilder, fed: Value, shape: Shape) => Value;
}

const reverseAxes = (shape: Shape): number[] => shape.map((_, axis) => shape.length - 1 - axis);

const transposed: Layout = {
  applies: (shape) => shape.length >= 2 && !shape.includes(0),
  host: (tensor) => {
    const strides = stridesOf(tensor.shape).reverse();
    return rearrange(tensor, [...tensor.shape].reverse(), (index) =>
      index.reduce((at, coordinate, axis) => at + coordinate * (strides[axis] as number), 0),
    );
  },
  graph: (builder, fed, shape) => builder.emitOne("Transpose", [fed], { perm: reverseAxes(shape) }),
};

/** Takes every second element from index 1 on, along every axis; the elements in between must not be read. */
const sliced: Layout = {
  applies: (shape) => shape.length >= 1 && !shape.includes(0),
  host: (tensor) => {
    const strides = stridesOf(tensor.shape);
    const shape = tensor.shape.map((size) => 2 * size + 1);
    return rearrange(tensor, shape, (index) =>
      index.some((coordinate) => coordinate % 2 === 0)
        ? undefined
        : index.reduce((at, coordinate, axis) => at + ((coordinate - 1) / 2) * (strides[axis] as number), 0),
    );
  },
  graph: (builder, fed, shape) =>
    builder.emitOne("Slice", [fed], {
      axes: shape.map((_, axis) => axis),
      starts: shape.map(() => 1),
      ends: shape.map((size) => 2 * size + 1),
      steps: shape.map(() => 2),
    }),
};

const LAYOUTS: readonly Layout[] = [transposed, sliced];

/** Whether an operand of this shape can be a view. */
export const canLayOut = (shape: Shape): boolean => LAYOUTS.some(({ applies }) => applies(shape));

/** Feeds `sampleGraph` with views: one operand is transposed, the next sliced, and so on, as far as shapes allow. */
export function layOut(
  builder: GraphBuilder,
  name: string,
  tensor: HostTensor,
): readonly [Value, HostTensor] {
  const [at = 0, place = 0] = name.match(/\d+/g)?.map(Number) ?? [];
  const turned = (at + place) % 2 === 0 ? LAYOUTS : LAYOUTS.toReversed();
  const layout = turned.find(({ applies }) => applies(tensor.shape));
  const fed = layout?.host(tensor) ?? tensor;
  const value = builder.input(name, { dtype: fed.dtype, shape: fed.shape }, "batch");
  return [layout?.graph(builder, value, tensor.shape) ?? value, fed];
}

/** Makes a tensor from elements of another: `from` gives their positions, or undefined for junk. */
function rearrange(
  tensor: HostTensor,
  shape: Shape,
  from: (index: readonly number[]) => number | undefined,
): HostTensor {
  const strides = stridesOf(shape);
  const size = elementCount(shape, "test data");
  const data = new hostArrayOf[tensor.dtype](size) as Float32Array;
  // All bits set: NaN in every float, and out of range for every index.
  new Uint8Array(data.buffer).fill(tensor.dtype === "bool" ? 1 : 0xff);
  for (let at = 0; at < size; at++) {
    const index = strides.map((stride, axis) => Math.floor(at / stride) % (shape[axis] as number));
    const source = from(index);
    if (source !== undefined) data[at] = tensor.data[source] as number;
  }
  return { dtype: tensor.dtype, shape, data } as unknown as HostTensor;
}
