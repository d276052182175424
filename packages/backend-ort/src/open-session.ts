import { type Executable, type Graph, isHalf, isNode, type Value } from "@mp/graph";
import type { Place } from "@mp/graph/backend";
import { type Lowered, lowerGraph, type Target } from "@mp/onnx-lowering";
import {
  type ConstantPool,
  type PingPongSlots,
  type PooledConstant,
  releaseConstants,
} from "@mp/onnx-lowering/program";
import { type Loaded, loadOnDevice } from "./load-on-device.js";
import type { NativeRuntime, NativeSession, NativeTensor } from "./native/index.js";

/** A session with its lowered graph and constants. */
export interface Opened {
  readonly lowered: Lowered;
  readonly session: NativeSession;
  /** Constants by the session's names; the caller releases them after the session. */
  readonly constants: ReadonlyMap<string, PooledConstant<NativeTensor>>;
  readonly warnings: Executable["warnings"];
}

/**
 * Disables two optimizers. Pad_Fusion moves pads of the kernel's size or more into pools, which refuse them.
 * NotWhereFusion swaps the operands of a Where, whose kernel loses the sign of zeros in one of them.
 */
const CONFIG = { "optimization.disable_specified_optimizers": "Pad_Fusion;NotWhereFusion" };

/**
 * Lowers a graph and loads it. If the state is constant, its slots and large constants become initializers in place,
 * which the engine may fold, pack and lay out. Otherwise slots are inputs, and the engine rewrites nothing.
 */
export async function openSession(
  runtime: NativeRuntime,
  pool: ConstantPool<NativeTensor>,
  target: Target,
  { graph, bound, state, isConstant }: Place<PingPongSlots<NativeTensor>> & { readonly graph: Graph },
): Promise<Opened> {
  // The optimizer reads initializers on the host.
  const isOnHost = isConstant && target.device === "cpu" && !loopsInHalves(graph, target.emulated);
  const isFolded = isOnHost && state !== undefined;
  const lowered = lowerGraph(graph, target, isFolded ? new Set(bound.reads.keys()) : undefined);
  const constants = pool.acquireAll(lowered.constants);
  try {
    const { initializers: names } = lowered;
    if (names === undefined || state === undefined)
      return { lowered, constants, ...(await load(runtime, lowered.model)) };
    const given: (readonly [string, NativeTensor])[] = [];
    for (const [name, { tensor }] of constants) given.push([name, tensor]);
    for (const [input, slot] of bound.reads) given.push([lowered.inputName(input), state.current(slot)]);
    const initializers = new Map(given.filter(([name]) => names.has(name)));
    const session = await runtime.createSession(lowered.model, {
      optimization: "all",
      config: CONFIG,
      initializers,
    });
    return { lowered, constants, session, warnings: [] };
  } catch (error) {
    releaseConstants(constants);
    throw error;
  }
}

async function load(runtime: NativeRuntime, model: Uint8Array): Promise<Loaded> {
  if (runtime.device !== "cpu") return loadOnDevice(runtime, model);
  return { session: await runtime.createSession(model), warnings: [] };
}

/** Whether a loop computes in a native half dtype. ORT's optimizer crashes on some such loops, as in LSTMs. */
function loopsInHalves({ nodes }: Graph, emulated: Target["emulated"]): boolean {
  const isNative = ({ dtype }: Value): boolean => isHalf(dtype) && !emulated.includes(dtype);
  return nodes.some((node) => {
    if (!isNode(node, "Scan")) return false;
    const { body } = node.attributes;
    return body.nodes.some(({ outputs }) => outputs.some(isNative)) || loopsInHalves(body, emulated);
  });
}
