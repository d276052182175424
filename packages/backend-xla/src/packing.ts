/**
 * Packs many small values into few buffers, because each buffer costs the host a few microseconds per run, and the
 * device a transfer or a kernel. Small values of one dtype lie one after the other in a buffer with one axis. A large
 * value, or the only small value of its dtype, has a buffer of its own in the value's shape.
 */
import { byteLength, elementCount, type HostTensor, hostArrayOf, tensor, type ValueType } from "@mp/graph";

/** Largest size, in bytes, of a value that shares a buffer. */
export const SMALL_BYTES = 4096;

/** Largest number of values in one buffer. A kernel that joined more values would have too many operands. */
const MOST_MEMBERS = 64;

interface PackedBuffer<N> {
  readonly type: ValueType;
  /** Names of the values that lie in the buffer. */
  readonly members: readonly N[];
}

interface Location {
  readonly buffer: number;
  /** Index of the value's first element in the buffer; undefined if the buffer holds only this value. */
  readonly offset: number | undefined;
}

const countOf = ({ shape }: ValueType): number => elementCount(shape, "packing");

/** Divides named values among buffers. */
export class Packing<N = string> {
  readonly types: ReadonlyMap<N, ValueType>;
  readonly buffers: readonly PackedBuffer<N>[];
  readonly #locations = new Map<N, Location>();

  /** @param alone names of values that get a buffer of their own, however small they are */
  constructor(types: Iterable<readonly [name: N, type: ValueType]>, alone: readonly N[] = []) {
    // Copies the types, which may be tensors, to keep no contents.
    this.types = new Map(
      Array.from(types, ([name, { dtype, shape }]) => [name, { dtype, shape: [...shape] }] as const),
    );
    const groups: N[][] = [];
    const open = new Map<string, N[]>();
    for (const [name, type] of this.types) {
      const group = open.get(type.dtype);
      if (alone.includes(name) || byteLength(type) > SMALL_BYTES) groups.push([name]);
      else if (group !== undefined && group.length < MOST_MEMBERS) group.push(name);
      else {
        const begun = [name];
        groups.push(begun);
        open.set(type.dtype, begun);
      }
    }
    this.buffers = groups.map((members, buffer) => {
      const type = this.typeOf(members[0] as N);
      let size = 0;
      for (const name of members) {
        this.#locations.set(name, { buffer, offset: members.length === 1 ? undefined : size });
        size += countOf(this.typeOf(name));
      }
      return { type: members.length === 1 ? type : { dtype: type.dtype, shape: [size] }, members };
    });
  }

  typeOf(name: N): ValueType {
    return this.types.get(name) as ValueType;
  }

  locationOf(name: N): Location {
    return this.#locations.get(name) as Location;
  }

  /** Indices of the buffers that hold these values, in ascending order. */
  buffersOf(names: readonly N[]): readonly number[] {
    const found = names.map((name) => this.locationOf(name).buffer);
    return [...new Set(found)].sort((one, other) => one - other);
  }

  /**
   * Joins values into the contents of a buffer.
   * @param memberValue returns a member's value; if undefined, the elements of `base` stay, or zeros
   */
  join(buffer: number, memberValue: (name: N) => HostTensor | undefined, base?: HostTensor): HostTensor {
    const { type, members } = this.buffers[buffer] as PackedBuffer<N>;
    if (members.length === 1) return memberValue(members[0] as N) as HostTensor;
    const data = base?.data.slice() ?? new hostArrayOf[type.dtype](countOf(type));
    for (const name of members) {
      // All are arrays of one class, which the union type hides.
      const value = memberValue(name)?.data as Float32Array | undefined;
      if (value !== undefined) (data as Float32Array).set(value, this.locationOf(name).offset ?? 0);
    }
    return { ...type, data } as HostTensor;
  }

  /** Takes a value out of the contents of all buffers: a copied part, or the content of a buffer of its own. */
  part(name: N, contents: (buffer: number) => HostTensor): HostTensor {
    const { buffer, offset } = this.locationOf(name);
    const content = contents(buffer);
    if (offset === undefined) return content;
    const { dtype, shape } = this.typeOf(name);
    const own = content.data.slice(offset, offset + countOf({ dtype, shape }));
    return tensor(own as never, shape, dtype);
  }
}
