/**
 * Training with loss scaling, written out as in NNabla's tutorial: `DynamicLossScalingUpdater.update` line by line, its
 * lines in comments beside ours. `updater` of `@mp/core/compat` does the same in one call, with the same bits.
 */
import {
  autocast,
  type Backend,
  clipByGlobalNorm,
  foldIn,
  type HostTensor,
  key,
  mapTensors,
  type Optimizer,
  type Precision,
  type Tensor,
  type TensorTree,
  type Traced,
  type Tree,
  valueAndGrad,
  weightDecay,
} from "@mp/core";
import type { Communicator } from "@mp/core/compat";
import { add, allFinite, cast, div, literal, mul } from "@mp/core/ops";
import { EngineState, type StateTrees, type Values } from "./engine-program.js";

type Batch = Readonly<Record<string, HostTensor>>;

export interface LoopOptions<B extends Batch> {
  readonly backend: Backend;
  readonly params: Tree<HostTensor>;
  readonly loss: (weights: TensorTree, batch: Traced<B>) => Tensor;
  readonly solver: Optimizer;
  /** Casting policy and master weights; the loop scales the loss itself. */
  readonly precision: Precision;
  readonly dataFeeder: () => B;
  readonly seed: number;
  /** Undefined if the scale does not change, as in the second section of the tutorial. */
  readonly dynamic: { readonly scalingFactor: number; readonly N: number } | undefined;
  readonly scale: number;
  /** Number of times that an update's batches are run again on overflow; 0 skips them at once. */
  readonly maxRetries: number;
  readonly accumGrad: number;
  readonly weightDecay: number | undefined;
  /** Largest norm of all gradients together. */
  readonly clip: number | undefined;
  readonly comm: Communicator | undefined;
}

/** Result of an update. */
export interface Update {
  readonly loss: number;
  readonly applied: boolean;
  /** The loss scale of the update. */
  readonly scale: number;
  readonly retries: number;
}

interface LoopState extends StateTrees {
  readonly master: TensorTree;
  readonly solver: TensorTree;
  /** Updates applied so far. */
  readonly step: Tensor;
  /** The gradients of loss · scale that backward adds up. */
  readonly gradients: TensorTree;
  readonly loss: Tensor;
}

/** Lower limit of the scale; below it, f32 cannot hold the scale's inverse. NNabla's scale may become 0. */
const SMALLEST_SCALE = 2 ** -126;
/** Upper limit of the scale. NNabla's scale may become infinite. */
const LARGEST_SCALE = 2 ** 24;

const scalar = (value: number): HostTensor => ({ dtype: "f32", shape: [], data: Float32Array.of(value) });
const numberIn = (values: Values, name: string): number => Number(values[name]?.data[0]);

/** The training loop. Its state is on the engine; scale and counter are two numbers here. */
export class ScalingLoop<B extends Batch> {
  readonly #options: LoopOptions<B>;
  readonly #state: EngineState<LoopState>;
  readonly #programs: Awaited<ReturnType<typeof compilePrograms<B>>>;
  #scale: number;
  #counter = 0;

  private constructor(
    options: LoopOptions<B>,
    state: EngineState<LoopState>,
    programs: Awaited<ReturnType<typeof compilePrograms<B>>>,
  ) {
    this.#options = options;
    this.#state = state;
    this.#programs = programs;
    // self.scale = scale
    this.#scale = options.scale;
  }

  /** Puts the parameters on the engine and compiles the programs for batches like the example. */
  static async start<B extends Batch>(options: LoopOptions<B>, example: B): Promise<ScalingLoop<B>> {
    const { backend, precision, solver, params } = options;
    const { masterWeights } = precision;
    const state = await EngineState.of(backend, { params }, ({ params: given }): LoopState => {
      const master = masterWeights.init(given as TensorTree);
      const weights = masterWeights.parameters(master);
      return {
        master,
        solver: solver.init(inF32(weights)),
        step: literal(0, "i32"),
        gradients: mapTensors((weight) => mul(cast(weight, "f32"), 0), weights),
        loss: literal(0),
      };
    });
    return new ScalingLoop(options, state, await compilePrograms(options, state, example));
  }

  /** One update. */
  async update(): Promise<Update> {
    const { accumGrad, dataFeeder, comm, dynamic, maxRetries } = this.#options;
    // self.data_feeder(), inside the loop below: there an overflow loses the batch, here a retry uses it again.
    const batches = Array.from({ length: accumGrad }, dataFeeder);
    for (let retries = 0; ; retries++) {
      const scale = this.#scale;
      // self.solver.zero_grad()
      await this.#zeroGrad();
      // for _ in range(self.accum_grad):
      for (const batch of batches) {
        //   self.loss.forward(clear_no_need_grad=self.clear_buffer)
        //   self.loss.backward(self.scale, clear_buffer=self.clear_buffer)
        await this.#programs.forwardBackward({ batch, scale: scalar(scale) });
      }
      // if self.comm and len(self.grads) != 0:
      //   self.comm.all_reduce(self.grads, division=False, inplace=False)
      if (comm !== undefined) await this.#allReduce(comm);
      // if self.solver.check_inf_or_nan_grad():
      const { finite, loss } = await this.#check();
      if (!finite) {
        //   self.scale /= self.scaling_factor; self._counter = 0
        const hasChanged = this.#backOff();
        //   self._recursive_count += 1; if self._recursive_count > self._max_recursive_count: return  # skip
        //   return self.update()
        if (hasChanged && retries < maxRetries) continue;
        return { loss, applied: false, scale, retries };
      }
      // self.solver.scale_grad(1. / self.scale)
      // self.solver.weight_decay(self.weight_decay)
      // self.solver.update()
      const { applied } = await this.#programs.apply({ scale: scalar(scale) });
      // if self._counter > self.N: self.scale *= self.scaling_factor; self._counter = 0
      // self._counter += 1
      if (dynamic !== undefined) this.#grow(dynamic);
      return { loss, applied: applied?.data[0] === 1, scale, retries };
    }
  }

  /** The parameters as the loss gets them, by path, in their own dtype. */
  async parameters(): Promise<Values> {
    return this.#programs.parameters({});
  }

  async #zeroGrad(): Promise<void> {
    await this.#state.clear("gradients");
    await this.#state.clear("loss");
  }

  /** Checks unscaled gradients, which a scale below 1 may make infinite; NNabla checks the scaled ones. */
  async #check(): Promise<{ readonly finite: boolean; readonly loss: number }> {
    const values = await this.#programs.check({ scale: scalar(this.#scale) });
    return { finite: numberIn(values, "finite") === 1, loss: numberIn(values, "loss") };
  }

  async #allReduce(comm: Communicator): Promise<void> {
    const gradients = await this.#state.read("gradients");
    const sums = await comm.allReduce(Object.values(gradients), { division: false });
    const named = Object.keys(gradients).map((slot, index) => [slot, sums[index] as HostTensor] as const);
    await this.#state.state.write(Object.fromEntries(named));
  }

  /** Divides the scale; returns whether another try would differ from this one. */
  #backOff(): boolean {
    const { dynamic } = this.#options;
    if (dynamic === undefined) return false;
    const [scale, counter] = [this.#scale, this.#counter];
    this.#scale = Math.max(Math.fround(scale * Math.fround(1 / dynamic.scalingFactor)), SMALLEST_SCALE);
    this.#counter = 0;
    return this.#scale !== scale || counter !== 0;
  }

  /** Grows the scale after exactly N finite updates; the code in the comment waits for one or two more. */
  #grow({ scalingFactor, N }: { readonly scalingFactor: number; readonly N: number }): void {
    this.#counter += 1;
    if (this.#counter < N) return;
    const largest = Math.max(LARGEST_SCALE, this.#options.scale);
    this.#scale = Math.min(Math.fround(this.#scale * scalingFactor), largest);
    this.#counter = 0;
  }
}

const inF32 = (tree: TensorTree): TensorTree => mapTensors((leaf) => cast(leaf, "f32"), tree);

/** Traces and compiles the programs of an update. */
async function compilePrograms<B extends Batch>(
  options: LoopOptions<B>,
  state: EngineState<LoopState>,
  example: B,
) {
  const { backend, precision, solver, accumGrad, seed } = options;
  const { policy, masterWeights } = precision;
  const half = autocast(options.loss, policy, { manifest: backend.manifest });
  const scaleType = { scale: scalar(1) };
  // After the scale is divided out everything is f32, in the order of the tutorial: decay, clip, update.
  const parts = [
    ...(options.weightDecay === undefined ? [] : [weightDecay(options.weightDecay)]),
    ...(options.clip === undefined ? [] : [clipByGlobalNorm(options.clip)]),
  ];
  const unscale = (gradients: TensorTree, scale: Tensor): TensorTree => {
    const inverse = div(1, scale);
    return mapTensors((gradient) => mul(gradient, inverse), gradients);
  };

  const forwardBackward = await state.program({
    example: { batch: example, ...scaleType },
    body: ({ master, gradients, loss }, { batch, scale }) => {
      const weights = masterWeights.parameters(master);
      const pass = valueAndGrad(half, { seed: scale as Tensor })(weights, batch as Traced<B>);
      return {
        next: {
          gradients: mapTensors(add, gradients, inF32(pass.gradients)),
          loss: add(loss, cast(pass.value, "f32")),
        },
        commit: "always",
        outputs: {},
      };
    },
  });

  const check = await state.program({
    example: scaleType,
    body: ({ gradients, loss }, { scale }) => ({
      next: {},
      commit: "always",
      outputs: {
        finite: allFinite({ loss, gradients: unscale(gradients, scale as Tensor) }),
        loss: accumGrad === 1 ? loss : mul(loss, 1 / accumGrad),
      },
    }),
  });

  const apply = await state.program({
    example: scaleType,
    body: ({ master, solver: before, step, gradients: scaled }, { scale }) => {
      const weights = inF32(masterWeights.parameters(master));
      let gradients = unscale(scaled, scale as Tensor);
      for (const part of parts) gradients = part.update(gradients, {}, weights, { step }).updates;
      const { updates, state: after } = solver.update(gradients, before, weights, { step });
      const next = {
        master: masterWeights.apply(master, updates, foldIn(key(seed), "master")),
        solver: after,
        step: add(step, 1),
      };
      // NNabla applies any update; here one that is not finite is skipped, though no other scale would help.
      const applied = allFinite({ master: next.master, solver: after });
      return { next, commit: "when-applied", outputs: { applied } };
    },
  });

  const parameters = await state.program({
    example: {},
    body: ({ master }) => ({
      next: {},
      commit: "always",
      outputs: inF32(masterWeights.parameters(master)) as Readonly<Record<string, Tensor>>,
    }),
  });
  return { forwardBackward, check, apply, parameters };
}
