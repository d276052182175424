import { DTYPES, type DType, type HostArrays, type HostTensor, MpError, tensor } from "@mp/graph";
import {
  arrayOf,
  type LoadedTensors as FileTensors,
  type SafetensorsDType,
  type WritableTensor,
} from "@mp/safetensors";

/** The format's name of each dtype. */
const formatNames = {
  f32: "F32",
  f16: "F16",
  bf16: "BF16",
  f8e4m3: "F8_E4M3",
  f8e5m2: "F8_E5M2",
  i32: "I32",
  i64: "I64",
  u64: "U64",
  u8: "U8",
  bool: "BOOL",
} as const satisfies Readonly<Record<DType, SafetensorsDType>>;

const dtypeOfName: ReadonlyMap<SafetensorsDType, DType> = new Map(
  DTYPES.map((dtype) => [formatNames[dtype], dtype]),
);

/** A checkpoint's content. Both records have no prototype, so a tensor may be called `__proto__`. */
export interface LoadedTensors {
  readonly tensors: Readonly<Record<string, HostTensor>>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Converts host tensors to tensors of the file format, on the same memory. */
export function toFormat(
  tensors: Readonly<Record<string, HostTensor>>,
): Readonly<Record<string, WritableTensor>> {
  return withoutPrototype(tensors, ({ dtype, shape, data }) => ({ dtype: formatNames[dtype], shape, data }));
}

/**
 * Converts the tensors of a file to host tensors, on the same memory.
 * @throws MP_UNSUPPORTED for a dtype of the format that this SDK has no type for
 */
export function fromFormat({ tensors, metadata }: FileTensors): LoadedTensors {
  return {
    tensors: withoutPrototype(tensors, (read, name) => {
      const dtype = dtypeOfName.get(read.dtype);
      if (dtype === undefined) throw withoutCounterpart(name, read.dtype);
      // The format stores each dtype in the array class that this SDK does.
      const data = arrayOf(read) as HostArrays[typeof dtype];
      return tensor(data, read.shape, dtype) as HostTensor;
    }),
    metadata,
  };
}

function withoutCounterpart(name: string, dtype: SafetensorsDType): MpError<"MP_UNSUPPORTED"> {
  const cut = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
  return new MpError(
    "MP_UNSUPPORTED",
    `safetensors: tensor ${cut} is ${dtype}, which has no counterpart here, ` +
      `convert it to one of ${[...dtypeOfName.keys()].join(", ")}`,
    { details: { problem: "unsupported-dtype", tensor: name, dtype } },
  );
}

function withoutPrototype<A, B>(
  record: Readonly<Record<string, A>>,
  made: (value: A, name: string) => B,
): Readonly<Record<string, B>> {
  const out: Record<string, B> = Object.create(null);
  for (const [name, value] of Object.entries(record)) out[name] = made(value, name);
  return out;
}
