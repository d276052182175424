import { type BackendManifest, DTYPES, type DType, type Op, type Support } from "@mp/core";
import { exactNumerics, opDTypes } from "@mp/core/backend";

const lacking: Readonly<Partial<Record<Op, readonly DType[]>>> = {};

const halfUlp = { f32: 4, f16: 1, bf16: 1 } as const;

function storage(dtype: DType, device: "cpu" | "cuda"): BackendManifest["dtypes"][DType] {
  const isHalf = dtype === "f16" || dtype === "bf16";
  if (isHalf && device === "cpu") return { storage: "f32", compute: "emulated" };
  return { storage: dtype, compute: "native" };
}

/** What this engine says of itself. */
export function ortManifest(engine: BackendManifest["engine"], device: "cpu" | "cuda"): BackendManifest {
  const ops = Object.fromEntries(
    (Object.entries(opDTypes) as readonly (readonly [Op, readonly DType[]])[]).map(
      ([op, dtypes]): readonly [Op, Support<readonly DType[]>] => [
        op,
        dtypes.filter((dtype) => !(lacking[op] ?? []).includes(dtype)),
      ],
    ),
  ) as BackendManifest["ops"];
  return Object.freeze({
    specVersion: "v1",
    engine,
    device,
    dtypes: Object.fromEntries(
      DTYPES.map((dtype) => [dtype, storage(dtype, device)]),
    ) as BackendManifest["dtypes"],
    ...exactNumerics,
    ops,
    tolerance: { default: halfUlp },
    eventLoop: "free",
    profile: true,
    memory: device === "cpu" ? true : { unsupported: "the device's arena is not read" },
  });
}
