/**
 * A training step without the SDK's safety: loss, gradients, clipping, optimizer, and an unconditional commit of the
 * new state. It is built from the same public pieces, so that the missing checks are the only difference.
 */
import {
  type Backend,
  chain,
  clipByGlobalNorm,
  type HostTensor,
  isHostTensor,
  isTensor,
  leavesOf,
  mapTensors,
  type Optimizer,
  rebuildTree,
  type Tensor,
  type TensorTree,
  type Traced,
  valueAndGrad,
  zeros,
} from "@mp/core";
import { type Executable, prepareGraph, type State, type StateBinding, traceInto } from "@mp/core/graph";
import { add } from "@mp/core/ops";
import type { WorkloadDefinition } from "./workload-definition.js";

export interface PlainTraining {
  /** Makes a step; resolves to the loss. */
  step(): Promise<number>;
  dispose(): Promise<void>;
}

type Leaves = readonly (readonly [path: string, leaf: HostTensor])[];
type Values = Readonly<Record<string, HostTensor>>;

const prefixPaths = (head: string, leaves: Leaves): Values =>
  Object.fromEntries(leaves.map(([path, leaf]) => [`${head}/${path}`, leaf]));

export async function startPlain<P, D>(
  backend: Backend,
  definition: Pick<WorkloadDefinition<P, D>, "params" | "batch" | "loss" | "optimizer" | "clipNorm">,
): Promise<PlainTraining> {
  const { params, batch, clipNorm } = definition;
  const optimizer: Optimizer =
    clipNorm === undefined ? definition.optimizer : chain(clipByGlobalNorm(clipNorm), definition.optimizer);
  const weights = leavesOf(params, isHostTensor, "params");
  const data = prefixPaths("batch", leavesOf(batch, isHostTensor, "batch"));

  const initial = traceInto(graphInputs(prefixPaths("weights", weights), "parameter"), (tensors) => ({
    optimizer: optimizer.init(rebuildTree(params, isHostTensor, tensors) as TensorTree),
  }));
  const values: Values = {
    ...prefixPaths("weights", weights),
    ...(await runOnce(backend, initial.graph, prefixPaths("weights", weights))),
    step: zeros([], "i32"),
  };
  const slots = Object.keys(values);
  const traced = traceInto([...graphInputs(values, "state"), ...graphInputs(data, "batch")], (tensors) => {
    const moments = tensors.slice(weights.length, slots.length - 1);
    const step = tensors[slots.length - 1] as Tensor;
    const trees = {
      weights: rebuildTree(params, isHostTensor, tensors.slice(0, weights.length)) as Traced<P>,
      optimizer: rebuildTree<unknown, Tensor, Tensor>(initial.result.optimizer, isTensor, moments),
      batch: rebuildTree(batch, isHostTensor, tensors.slice(slots.length)) as Traced<D>,
    };
    const lossOf = (parameters: Traced<P>): Tensor => definition.loss(parameters, trees.batch);
    const { value, gradients } = valueAndGrad(lossOf)(trees.weights);
    const { updates, state } = optimizer.update(
      gradients as TensorTree,
      trees.optimizer as TensorTree,
      trees.weights as TensorTree,
      { step },
    );
    const next = mapTensors(add, trees.weights as TensorTree, updates);
    return { loss: value, next: { optimizer: state, weights: next, step: add(step, 1) } };
  });
  const bindings = slots.map(
    (slot): StateBinding => ({ slot, input: slot, output: `next/${slot}`, commit: "always" }),
  );
  const state = await backend.createState(values);
  const executable = await backend.compile(prepareGraph(traced.graph), { state, bindings });
  return training(executable, state, data);
}

function training(executable: Executable, state: State, data: Values): PlainTraining {
  return {
    step: async () => {
      const { loss } = await executable.run(data);
      return Number(loss?.data[0]);
    },
    dispose: async () => {
      await executable.dispose();
      await state.dispose();
    },
  };
}

const graphInputs = (values: Values, role: "parameter" | "state" | "batch") =>
  Object.entries(values).map(([name, { dtype, shape }]) => ({ name, role, type: { dtype, shape } }));

async function runOnce(backend: Backend, graph: Parameters<Backend["compile"]>[0], inputs: Values) {
  const executable = await backend.compile(prepareGraph(graph));
  const used = new Set(graph.inputs.map(({ name }) => name));
  try {
    return await executable.run(
      Object.fromEntries(Object.entries(inputs).filter(([name]) => used.has(name))),
    );
  } finally {
    await executable.dispose();
  }
}
