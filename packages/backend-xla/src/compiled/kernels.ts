/** The kernels that a compiled program runs. */
import type { HloComputation, HloInstruction } from "./hlo-module.js";
import { kernelProducts, type Product } from "./products.js";
import { isFloatType } from "./shape.js";
import { kernelBytes } from "./traffic.js";

export interface Kernel {
  /** Kind of kernel: `fusion kLoop`, `fusion __triton_gemm`, `call __cublas$lt$matmul`, `copy`. */
  readonly kind: string;
  /** The number of times that the kernel runs in a step. */
  readonly times: number;
  /** Number of operations fused into the kernel. */
  readonly nodes: number;
  /** Bytes that one run of the kernel reads and writes. */
  readonly bytes: number;
  /** Bytes that each device holds after an exchange with other devices, such as an `all-reduce`; else 0. */
  readonly exchangedBytes: number;
  readonly products: readonly Product[];
  /** Casts between float types in the kernel, such as `f32 -> bf16`. */
  readonly casts: readonly string[];
}

/** Opcodes that take no device time. */
const FREE = new Set([
  "parameter",
  "constant",
  "tuple",
  "get-tuple-element",
  "bitcast",
  "after-all",
  "partition-id",
  "replica-id",
  "opt-barrier",
  "optimization-barrier",
  "add-dependency",
]);
/** Instructions that run other computations, one kernel after the other. */
const CALLS = new Set(["call", "conditional", "async-start"]);

export interface ReadKernels {
  /** Kernels in the order in which they run. */
  readonly kernels: readonly Kernel[];
  /** Number of loops whose trip count the compiler does not know; kernels in them count once. */
  readonly unknownLoops: number;
}

/** Lists the kernels of a step in the order in which they run. All branches of a conditional are included. */
export function readKernels(entry: HloComputation): ReadKernels {
  const kernels: Kernel[] = [];
  let unknownLoops = 0;
  const visit = ({ instructions }: HloComputation, times: number): void => {
    for (const instruction of instructions) {
      const { opcode, called } = instruction;
      if (opcode === "while") {
        const trips = knownTrips(instruction);
        if (trips === undefined) unknownLoops++;
        // With a known trip count the host counts the trips, and the condition does not run.
        for (const computation of trips === undefined ? called : called.slice(0, 1))
          visit(computation, times * (trips ?? 1));
      } else if (CALLS.has(opcode)) {
        for (const computation of called) visit(computation, times);
      } else if (isKernel(instruction)) kernels.push(readKernel(instruction, times));
    }
  };
  visit(entry, 1);
  return { kernels, unknownLoops };
}

const isKernel = ({ opcode, target }: HloInstruction): boolean =>
  !FREE.has(opcode) && !/-(done|update)$/.test(opcode) && target !== "AllocateBuffer";

const EXCHANGE = /^(all-reduce|all-gather|all-to-all|reduce-scatter|collective-(permute|broadcast))$/;

function readKernel(instruction: HloInstruction, times: number): Kernel {
  const inner = allNodes(instruction);
  return {
    kind: kindOf(instruction),
    times,
    nodes: inner.length,
    bytes: kernelBytes(instruction),
    exchangedBytes: EXCHANGE.test(instruction.opcode) ? instruction.shape.bytes : 0,
    products: kernelProducts(instruction),
    casts: inner.flatMap(castOf),
  };
}

/**
 * Lists the operations of a fusion, or the instruction itself if it is none, without those that take no device time.
 */
function allNodes(instruction: HloInstruction): readonly HloInstruction[] {
  if (instruction.opcode !== "fusion") return FREE.has(instruction.opcode) ? [] : [instruction];
  return instruction.called.flatMap(({ instructions }) => instructions.flatMap(allNodes));
}

function kindOf({ opcode, target, kind, config }: HloInstruction): string {
  if (opcode === "custom-call") return `call ${target}`;
  if (opcode !== "fusion") return opcode;
  const { fusion_backend_config: own } = parseConfig(config);
  return `fusion ${own?.kind ?? kind}`;
}

/** Describes an instruction that casts between floats, as a list of one; else an empty list. */
function castOf({ opcode, shape, operands }: HloInstruction): readonly string[] {
  const from = operands[0]?.shape.type ?? "";
  if (opcode === "reduce-precision") return [`${from} -> ${from} with fewer bits`];
  const isCast = opcode === "convert" && isFloatType(from) && isFloatType(shape.type);
  return isCast ? [`${from} -> ${shape.type}`] : [];
}

interface Config {
  readonly fusion_backend_config?: { readonly kind?: string };
  readonly known_trip_count?: { readonly n?: string };
}

const parseConfig = (config: string): Config => JSON.parse(config || "{}") as Config;

function knownTrips({ config }: HloInstruction): number | undefined {
  const trips = parseConfig(config).known_trip_count?.n;
  return trips === undefined ? undefined : Number(trips);
}
