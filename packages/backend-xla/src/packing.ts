/**
 * Many small values in few buffers, since each buffer of a run costs the host a few microseconds and the device a
 * transfer or a kernel. Values of one dtype lie one after the other in a buffer of one axis; a large value, or one that
 * has no companion, has a buffer of its own, of its own shape.
 */
import { byteLength, elementCount, type HostTensor, hostArrayOf, tensor, type ValueType } from "@mp/graph";

/** The most bytes of a value that shares a buffer. */
export const SMALL_BYTES = 4096;

/** The most values of one buffer: a kernel that joins more would have too many operands. */
const MOST_MEMBERS = 64;

interface PackedBuffer {
  readonly type: ValueType;
  /** The values in the buffer, by their index in the list. */
  readonly members: readonly number[];
}

interface Location {
  /** The index of the buffer. */
  readonly buffer: number;
  /** The first element there; undefined for a value with a buffer of its own. */
  readonly offset: number | undefined;
}

const countOf = ({ shape }: ValueType): number => elementCount(shape, "packing");

/** Divides values among buffers. */
export class Packing {
  readonly types: readonly ValueType[];
  readonly buffers: readonly PackedBuffer[];
  /** Where each value is. */
  readonly locations: readonly Location[];

  /** @param alone indices of values that get a buffer of their own, however small they are */
  constructor(types: readonly ValueType[], alone: ReadonlySet<number> = new Set()) {
    this.types = types;
    const groups: number[][] = [];
    const open = new Map<string, number[]>();
    for (const [index, type] of types.entries()) {
      const group = open.get(type.dtype);
      if (alone.has(index) || byteLength(type) > SMALL_BYTES) groups.push([index]);
      else if (group !== undefined && group.length < MOST_MEMBERS) group.push(index);
      else {
        const begun = [index];
        groups.push(begun);
        open.set(type.dtype, begun);
      }
    }
    const locations: Location[] = [];
    this.buffers = groups.map((members, buffer) => {
      const [first = 0] = members;
      const type = this.#typeOf(first);
      if (members.length === 1) {
        locations[first] = { buffer, offset: undefined };
        return { type, members };
      }
      let size = 0;
      for (const index of members) {
        locations[index] = { buffer, offset: size };
        size += countOf(this.#typeOf(index));
      }
      return { type: { dtype: type.dtype, shape: [size] }, members };
    });
    this.locations = locations;
  }

  locationOf(index: number): Location {
    return this.locations[index] as Location;
  }

  /**
   * The contents of a buffer.
   * @param memberValue the values of its members; one that is undefined keeps the elements of `base`, or zeros
   */
  join(
    buffer: number,
    memberValue: (index: number) => HostTensor | undefined,
    base?: HostTensor,
  ): HostTensor {
    const { type, members } = this.buffers[buffer] as PackedBuffer;
    const [only = 0] = members;
    if (members.length === 1) return memberValue(only) as HostTensor;
    const data = base?.data.slice() ?? new hostArrayOf[type.dtype](countOf(type));
    for (const index of members) {
      // All are arrays of one class, which the union type hides.
      const value = memberValue(index)?.data as Float32Array | undefined;
      if (value !== undefined) (data as Float32Array).set(value, this.locationOf(index).offset ?? 0);
    }
    return { ...type, data } as HostTensor;
  }

  /** A value out of the contents of its buffer: a copy, or all of them. */
  part(index: number, content: HostTensor): HostTensor {
    const { offset } = this.locationOf(index);
    if (offset === undefined) return content;
    const { dtype, shape } = this.#typeOf(index);
    const { data } = content;
    const own = data.slice(offset, offset + countOf({ dtype, shape }));
    return tensor(own as never, shape, dtype);
  }

  #typeOf(index: number): ValueType {
    return this.types[index] as ValueType;
  }
}
