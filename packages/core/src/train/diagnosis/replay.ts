/** Runs a step again on a graph that checks every value for being finite. */
import { isHalf, tensor } from "@mp/graph";
import { emitWidened, firstCulprit, instrument, type Probe, type Probes } from "@mp/graph/internal";
import { type CastingPolicy, float32Policy, lowDType } from "../../cast/policy.js";
import type { FlatBatch } from "../batch/batch.js";
import { type Compiled, type CompiledPrograms, withCompiled } from "../compile/compiled-programs.js";
import type { StepDefinition } from "../definition/definition.js";
import { withObjective } from "../definition/objective-state.js";
import { numberIn, numbersIn, ratesIn } from "../definition/outputs.js";
import type { TensorUpdates } from "../definition/result.js";
import type { Program, TypeTree } from "../definition/traced-program.js";
import { revisitProgram } from "../programs/step-programs.js";

export interface Inspected {
  readonly programs: CompiledPrograms;
  readonly definition: StepDefinition;
  readonly stateTypes: TypeTree;
  /** Root mean square of the run's initial weights. */
  readonly initialSize: number;
  /** The first finite loss of a step; undefined before it. */
  readonly firstLoss: number | undefined;
}

/** The result of running a step with every value checked. */
export interface Inspection {
  /** The first value, in running order, that is not finite and reaches the loss, a gradient or the next state. */
  readonly culprit: Probe | undefined;
  readonly tensors: readonly TensorUpdates[];
  readonly loss: number;
  readonly rates: Readonly<Record<string, number>>;
  /** Root mean square of the weights before and after the step. */
  readonly sizes: readonly [before: number, after: number];
  readonly probes: Probes;
  /** The largest finite magnitude of each probe; only for a step in f32. */
  readonly largest: ArrayLike<unknown>;
}

/** Runs a step at a scale. */
export type RunAt = (scale: number) => Promise<Inspection>;

/** Runs one microbatch of a step again, as often as a diagnosis needs. Changes no state. */
export class Replay {
  readonly of: Inspected;
  readonly feed: FlatBatch;
  readonly #place: number;

  /** @param place distance in microbatches from the next one to be drawn; negative for earlier ones */
  constructor(of: Inspected, feed: FlatBatch, place: number) {
    this.of = of;
    this.feed = feed;
    this.#place = place;
  }

  /** Runs the step as it was. */
  readonly own: RunAt = (scale) => this.#kept("diagnose", scale, false);

  /** Runs the step in f32; casts that the user wrote are widened too. */
  inF32(scale: number): Promise<Inspection> {
    return this.#kept("diagnose in f32", scale, true);
  }

  /** Compiles the step under another policy for as long as `use` needs it. */
  under<T>(policy: CastingPolicy, use: (run: RunAt) => Promise<T>): Promise<T> {
    return withCompiled(this.of.programs, this.#program(policy, false), (compiled) =>
      use((scale) => this.#inspect(compiled, scale)),
    );
  }

  async #kept(kind: string, scale: number, inF32: boolean): Promise<Inspection> {
    const { programs, definition } = this.of;
    const { policy } = definition.precision;
    const build = () => this.#program(inF32 && lowDType(policy) ? float32Policy : policy, inF32);
    const { signature } = this.feed;
    return this.#inspect(
      await programs.findOrCompile(withObjective(definition, kind), signature, build),
      scale,
    );
  }

  /** The step's program with every value checked. It does not change the state, and leaves out metrics. */
  #program(policy: CastingPolicy, inF32: boolean): Program {
    const { definition, stateTypes } = this.of;
    const asked = { ...definition, precision: { ...definition.precision, policy } };
    const { graph, bindings } = revisitProgram(asked, stateTypes, this.feed.types());
    const names = graph.outputs.map(({ name }) => name);
    const watched = instrument(graph, {
      results: names.filter((name) => /^(applied|loss|gradNorm|next\/.*)$/.test(name)),
      kept: names.filter((name) => /^(loss$|seen\/|rates\/)/.test(name)),
      ...(inF32 ? { widen: (builder, node, inputs) => emitWidened(builder, node, inputs, isHalf) } : {}),
    });
    return { ...watched, bindings: bindings.map(({ slot, input }) => ({ slot, input })), outputs: {} };
  }

  async #inspect({ executable, probes }: Compiled, scale: number): Promise<Inspection> {
    if (probes === undefined) throw new Error("internal: the program has no probes");
    const [place, at] = [tensor(Int32Array.of(this.#place), []), tensor(Float32Array.of(scale), [])];
    const outputs = await executable.run({ ...this.feed.inputs, place, scale: at });
    const flags = outputs["poison"]?.data as Float32Array;
    const [gradients = {}, updates, lost] = ["gradients", "updates", "lost"].map((name) =>
      numbersIn(outputs, `seen/${name}/`),
    );
    return {
      culprit: firstCulprit(probes, (at) => flags[at] === 0),
      tensors: Object.entries(gradients).map(([parameter, count]) => ({
        parameter,
        gradients: count,
        updates: updates?.[parameter] ?? 0,
        lost: lost?.[parameter] ?? 0,
      })),
      loss: numberIn(outputs, "loss"),
      rates: ratesIn(outputs, this.of.definition.optimizer),
      sizes: [numberIn(outputs, "seen/before"), numberIn(outputs, "seen/after")],
      probes,
      largest: outputs["largest"]?.data ?? [],
    };
  }
}

/** The fraction of the nonzero updates that leave the weights unchanged; 0 if all updates are 0. */
export function shareUnchanged(tensors: readonly TensorUpdates[]): number {
  const updates = tensors.reduce((sum, tensor) => sum + tensor.updates, 0);
  return updates === 0 ? 0 : tensors.reduce((sum, { lost }) => sum + lost, 0) / updates;
}
