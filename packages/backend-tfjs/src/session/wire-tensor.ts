import { bytesPerElement, elementCount, type HostTensor, hostArrayOf, type ValueType } from "@mp/graph";
import { type CarrierDType, carrierDType } from "../graph/carrier.js";
import { wireType } from "../graph/edges.js";
import type { TfjsBinding } from "../load/index.js";

type Carrier = Float32Array | Int32Array | Uint8Array;

/** A tensor in TensorFlow's memory, in wire format; `release` frees it. */
export class WireTensor {
  readonly type: ValueType;
  readonly #binding: TfjsBinding;
  #id: number | undefined;

  constructor(binding: TfjsBinding, type: ValueType, id: number) {
    this.#binding = binding;
    this.type = type;
    this.#id = id;
  }

  get id(): number {
    if (this.#id === undefined) throw new Error("internal: the tensor has been released");
    return this.#id;
  }

  /** Copies the tensor to the host. */
  read(): HostTensor {
    return fromCarrier(this.type, this.#binding.tensorDataSync(this.id));
  }

  release(): void {
    if (this.#id === undefined) return;
    this.#binding.deleteTensor(this.#id);
    this.#id = undefined;
  }
}

/** Copies host data into TensorFlow's memory. Tensors without elements must not be transferred. */
export function wireTensor(binding: TfjsBinding, value: HostTensor): WireTensor {
  const { dtype, shape } = wireType(value);
  const numbers: Readonly<Record<CarrierDType, number>> = {
    f32: binding.TF_FLOAT,
    i32: binding.TF_INT32,
    bool: binding.TF_BOOL,
  };
  const id = binding.createTensor(shape, numbers[dtype], carrierCopy(value));
  return new WireTensor(binding, { dtype: value.dtype, shape: value.shape }, id);
}

/** Offset that makes an array unaligned, so that TensorFlow copies the data instead of using it in place. */
const UNALIGNED_BYTES = 4;
/** Largest size of the buffer that is reused for copies of a step's inputs; larger copies get their own. */
const LARGEST_SCRATCH_BYTES = 64 * 2 ** 20;
let scratch = new ArrayBuffer(0);

/**
 * Copies data in a way that makes TensorFlow copy it again before the call returns. JavaScript memory must
 * not become part of a variable, because TensorFlow frees variables on its own threads.
 */
function carrierCopy({ dtype, shape, data }: HostTensor): Carrier {
  const {
    dtype: carrier,
    shape: [...dimensions],
  } = wireType({ dtype, shape });
  const count = elementCount(dimensions, "edge");
  const byteLength = count * bytesPerElement[carrier];
  const buffer = room(UNALIGNED_BYTES + byteLength);
  const copy = new hostArrayOf[carrier](buffer, UNALIGNED_BYTES, count);
  const bytes = new Uint8Array(buffer, UNALIGNED_BYTES, byteLength);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  // With an odd number of elements the last i32 is filled only in part.
  bytes.fill(0, data.byteLength);
  if (dtype === "bool") for (const [index, byte] of bytes.entries()) bytes[index] = Number(byte !== 0);
  return copy;
}

function room(byteLength: number): ArrayBuffer {
  if (byteLength > LARGEST_SCRATCH_BYTES) return new ArrayBuffer(byteLength);
  if (scratch.byteLength < byteLength) scratch = new ArrayBuffer(byteLength);
  return scratch;
}

/** Decodes a tensor from wire format. */
function fromCarrier({ dtype, shape }: ValueType, carrier: Carrier): HostTensor {
  const count = elementCount(shape, "result");
  const data =
    carrierDType(dtype) === dtype
      ? carrier
      : new hostArrayOf[dtype](carrier.buffer, carrier.byteOffset, count);
  return { dtype, shape, data } as HostTensor;
}

/** A tensor without elements. */
export function emptyTensor({ dtype, shape }: ValueType): HostTensor {
  return { dtype, shape, data: new hostArrayOf[dtype](0) } as HostTensor;
}

/** A copy in a new array. */
export function copyTensor(value: HostTensor): HostTensor {
  const { dtype, shape, data } = value;
  const own = dtype === "bool" ? data.map((byte) => Number(byte !== 0)) : data.slice();
  return { dtype, shape: [...shape], data: own } as HostTensor;
}
