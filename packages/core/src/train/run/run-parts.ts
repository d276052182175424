import type { State } from "@mp/graph";
import { CallQueue } from "../compile/call-queue.js";
import type { Definitions } from "../definition/definition.js";
import { type InitialState, initialState } from "../objective/initial-state.js";
import { isWindowed } from "../objective/stepper.js";
import { gradientSlots } from "../objective/window-reduction.js";
import { alone, type Collective } from "../ranks/collective.js";
import type { Sharding } from "../ranks/shard/sharding.js";
import type { RunOptions } from "./run-options.js";

/** The parts of a run once its state is in the engine. */
export interface RunParts extends InitialState {
  /** The definitions of this process's programs. */
  readonly definitions: Definitions;
  readonly state: State;
  /** Definitions and state in the form that checkpoints hold: the same as without sharding. */
  readonly kept: { readonly definitions: Definitions; readonly state: State };
  /** Gathers the parameters from all ranks; undefined without sharding. */
  readonly parameters: (() => Promise<unknown>) | undefined;
  readonly calls: CallQueue;
  readonly collective: Collective;
}

export async function makeRunParts(options: RunOptions): Promise<RunParts> {
  const { backend, allReduce, agreement } = options;
  const calls = new CallQueue("trainer");
  const sharding = await loadSharding(options);
  const definitions = sharding?.definitions ?? options.definitions;
  const collective =
    agreement === undefined
      ? alone(allReduce && calls.hook("allReduce", allReduce))
      : (await import("../ranks/ranks-collective.js")).among(agreement, {
          averageModelState: options.averageModelState,
          sharding,
        });
  const windowed = isWindowed(definitions[0], collective.isReduced);
  const initial = await initialState(backend, definitions, options, windowed);
  const { slots, given } = initial;
  await collective.starts(options.definitions, slots, sharding?.isCommon);
  const gradients = definitions.map((each) => gradientSlots(Object.keys(slots), each));
  const adjacent = [...gradients, ...(sharding?.adjacent ?? [])];
  const state = await backend.createState(slots, { adjacent });
  try {
    const whole = await sharding?.whole(state, given);
    return {
      ...initial,
      definitions,
      state,
      kept: { definitions: options.definitions, state: whole?.state ?? state },
      parameters: whole?.parameters,
      calls,
      collective,
    };
  } catch (error) {
    await state.dispose();
    throw error;
  }
}

/** Imports `sharding` on demand, like `among`, so that a page that trains alone does not download it. */
async function loadSharding({ agreement, shard, ...run }: RunOptions): Promise<Sharding | undefined> {
  if (agreement === undefined || shard === undefined) return undefined;
  const { sharding } = await import("../ranks/shard/sharding.js");
  return sharding(run.definitions, run.parameters, agreement.ranks);
}
