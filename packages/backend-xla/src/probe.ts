/** Finds out by a small program how a plugin computes. The manifest declares the findings, or the plugin is refused. */
import {
  type BackendManifest,
  type ComputeDType,
  encodeArray,
  GraphBuilder,
  type HostTensor,
  hostArrayOf,
  tensor,
  type Value,
} from "@mp/graph";
import { resolveBindings } from "@mp/graph/internal";
import { compileModule, compileProgram, type EngineOptions } from "./backend.js";
import { readModule } from "./compiled/hlo-module.js";
import { readKernels } from "./compiled/kernels.js";
import { BYTE_MATMUL } from "./compiled/products.js";
import { ConstantPool } from "./constant-pool.js";
import type { Flags, Plugin } from "./pjrt/index.js";

export interface Findings {
  /** The given flags without those that the plugin does not know. */
  readonly flags: Flags;
  /** Dtypes whose subnormal numbers the plugin turns into 0. */
  readonly flushed: readonly ComputeDType[];
  /** How products of 8-bit floats add, read from a compiled program; undefined if they are computed in wider floats. */
  readonly f8: BackendManifest["accumulate"]["f8"];
  /** Errors of the plugin that a manifest cannot declare; empty if there are none. */
  readonly faults: readonly string[];
}

type Emit = (builder: GraphBuilder, inputs: readonly Value[]) => Value;

interface Question {
  readonly emit: Emit;
  readonly inputs: readonly HostTensor[];
  /** The correct result, compared bit for bit. */
  readonly right: HostTensor["data"];
}

const f32 = (...numbers: readonly number[]): HostTensor =>
  tensor(Float32Array.from(numbers), [numbers.length]);
const through =
  (half: "f16" | "bf16"): Emit =>
  (builder, [x]) =>
    builder.emitOne("Cast", [builder.emitOne("Cast", [x as Value], { to: half })], { to: "f32" });

/** Asks for (x + y) - x, where x + y needs one bit more than the half dtype has, so that rounding shows. */
function chain(half: "f16" | "bf16"): Question {
  const [large, one] = [half === "f16" ? 2048 : 256, 1].map((number) => {
    return tensor(encodeArray(half, Float32Array.of(number)), [1], half);
  }) as [HostTensor, HostTensor];
  return {
    emit: (builder, [x, y]) => {
      const sum = builder.emitOne("Add", [x as Value, y as Value], {});
      return builder.emitOne("Sub", [sum, x as Value], {});
    },
    inputs: [large, one],
    right: encodeArray(half, Float32Array.of(0)),
  };
}

const INFINITY = Number.POSITIVE_INFINITY;

/** Questions by the fault that a wrong answer shows; such a fault makes a plugin unusable. */
const FAULTS: Readonly<Record<string, Question>> = {
  "leaves out casts to f16": {
    emit: through("f16"),
    inputs: [f32(65520, 1 + 2 ** -12)],
    right: Float32Array.of(INFINITY, 1),
  },
  "leaves out casts to bf16": {
    emit: through("bf16"),
    inputs: [f32(3.4e38, 1 + 2 ** -10)],
    right: Float32Array.of(INFINITY, 1),
  },
  "does not round between additions in f16": chain("f16"),
  "does not round between additions in bf16": chain("bf16"),
  "loses NaN in Max": {
    emit: (builder, inputs) => builder.emitOne("Max", inputs, {}),
    inputs: [f32(1, Number.NaN), f32(Number.NaN, 1)],
    right: Float32Array.of(Number.NaN, Number.NaN),
  },
  "loses NaN in ReduceMax": {
    emit: (builder, inputs) => builder.emitOne("ReduceMax", inputs, { axes: [0], keepdims: true }),
    inputs: [f32(1, Number.NaN, 2)],
    right: Float32Array.of(Number.NaN),
  },
};

/** The fault that `PRODUCT` detects: TF32's 10 bits lose the 2^-11. The question is not asked if TF32 is allowed. */
const ROUNDED_PRODUCT = "rounds the operands of products in f32";
const PRODUCT: Question = {
  emit: (builder, [x]) => {
    const matrix = builder.emitOne("Reshape", [x as Value], { shape: [16, 16] });
    const product = builder.emitOne("MatMul", [matrix, matrix], {});
    return builder.emitOne("Reshape", [product], { shape: [256] });
  },
  // The number on the diagonal, 0 elsewhere.
  inputs: [f32(...Array.from({ length: 256 }, (_, at) => (at % 17 === 0 ? 1 + 2 ** -11 : 0)))],
  right: Float32Array.from({ length: 256 }, (_, at) => (at % 17 === 0 ? (1 + 2 ** -11) ** 2 : 0)),
};

/** Asks for the sum of a dtype's smallest positive number with itself. */
function subnormalSum(dtype: ComputeDType): Question {
  const bits = (value: number): HostTensor["data"] =>
    dtype === "f32"
      ? new Float32Array(Uint32Array.of(value).buffer)
      : (new hostArrayOf[dtype](1).fill(value) as Uint16Array);
  const least = tensor(bits(1) as never, [1], dtype);
  return {
    emit: (builder, inputs) => builder.emitOne("Add", inputs, {}),
    inputs: [least, least],
    right: bits(2),
  };
}

const COMPUTED: readonly ComputeDType[] = ["f32", "f16", "bf16"];

/** Findings by plugin. They are kept, because a plugin does not change while a process runs. */
const known = new WeakMap<Plugin, Map<string, Promise<Findings>>>();

/**
 * Probes a plugin, once per process for each combination of flags and `tf32`.
 * @throws MP_BACKEND_FAILED or a more specific code if the plugin cannot compile or run the program
 */
export function probeOnce(options: EngineOptions): Promise<Findings> {
  const { client, flags, tf32 } = options;
  const answers = known.get(client.plugin) ?? new Map<string, Promise<Findings>>();
  known.set(client.plugin, answers);
  const question = JSON.stringify([flags, tf32]);
  const asked = answers.get(question) ?? probe(options);
  answers.set(question, asked);
  // A failure belongs to the client that asked; the next client asks again.
  asked.catch(() => answers.delete(question));
  return asked;
}

async function probe(options: EngineOptions): Promise<Findings> {
  try {
    return await ask(options);
  } catch (error) {
    const unknown = /No such compile option: '(\w+)'/.exec(error instanceof Error ? error.message : "")?.[1];
    if (unknown === undefined || !Object.hasOwn(options.flags, unknown)) throw error;
    const { [unknown]: _, ...flags } = options.flags;
    return probe({ ...options, flags });
  }
}

async function ask(options: EngineOptions): Promise<Findings> {
  const questions = new Map<string, Question>([
    ...Object.entries(FAULTS),
    ...(options.tf32 ? [] : [[ROUNDED_PRODUCT, PRODUCT] as const]),
    ...COMPUTED.map((dtype) => [dtype, subnormalSum(dtype)] as const),
  ]);
  const builder = new GraphBuilder();
  const inputs: Record<string, HostTensor> = {};
  const outputs = new Map<string, Value>();
  for (const [name, question] of questions) {
    const operands = question.inputs.map((value, index) => {
      inputs[`${name} ${index}`] = value;
      return builder.input(`${name} ${index}`, value, "state");
    });
    outputs.set(name, question.emit(builder, operands));
  }
  const graph = builder.finish(outputs);
  const bound = resolveBindings(graph, undefined, {});
  const place = { bound, state: undefined, isConstant: false };
  const program = await compileProgram(graph, place, options, new ConstantPool(options.client));
  try {
    const results = await program.run(inputs);
    const wrong = [...questions].flatMap(([name, { right }]) =>
      isSame(results[name]?.data, right) ? [] : [name],
    );
    return {
      flags: options.flags,
      f8: await byteProduct(options),
      flushed: COMPUTED.filter((dtype) => wrong.includes(dtype)),
      faults: wrong.filter((name) => !(COMPUTED as readonly string[]).includes(name)),
    };
  } finally {
    program.dispose();
  }
}

/** Compiles a product of 8-bit floats, and reads from the program how the device computes it. */
async function byteProduct(options: EngineOptions): Promise<Findings["f8"]> {
  const builder = new GraphBuilder();
  const codes = builder.input("codes", { dtype: "f8e4m3", shape: [64, 64] }, "state");
  const wide = builder.emitOne("Cast", [codes], { to: "f32" });
  const graph = builder.finish({ product: builder.emitOne("MatMul", [wide, wide], {}) });
  const place = { bound: resolveBindings(graph, undefined, {}), state: undefined, isConstant: false };
  const { executable } = await compileModule(graph, place, options);
  try {
    const module = executable.optimizedModule();
    const kernels = module && readKernels(readModule(module.bytes, module.format)).kernels;
    const products = kernels?.flatMap((kernel) => kernel.products);
    return products?.find(({ kind }) => kind === BYTE_MATMUL)?.sum as Findings["f8"];
  } finally {
    executable.release();
  }
}

const isSame = (got: HostTensor["data"] | undefined, right: HostTensor["data"]): boolean =>
  Array.from(right as Float32Array).every((number, index) => Object.is(number, got?.[index]));
