// Recurrent layers, batch first. The inputs of all steps are multiplied by the kernel at once, before the loop.
import { type Tensor, zeros } from "@mp/graph";
import {
  add,
  constant,
  matMul,
  mul,
  reshape,
  scan,
  slice,
  split,
  squeeze,
  sub,
  transpose,
} from "@mp/graph/ops";
import { type Activation, readActivation } from "../activations-table.js";
import { type Call, dropOut, type LayerKind, weightNames } from "../plan.js";
import type { Settings } from "../settings.js";

interface Weights {
  readonly recurrent: Tensor;
  /** Bias that is added within the loop; only in a GRU that applies its reset gate after the recurrent product. */
  readonly recurrentBias?: Tensor;
}

/** Computes the next state, whose first tensor is the output. `gates` is the input · kernel + input bias. */
type Step = (gates: Tensor, state: readonly Tensor[], weights: Weights) => readonly Tensor[];

interface Cell {
  readonly gates: number;
  readonly states: number;
  /** Default false. */
  readonly hasRecurrentBias?: boolean;
  readonly step: Step;
}

type MakeCell = (settings: Settings, units: number) => Cell;

const readActivations = (settings: Settings): { readonly inner: Activation; readonly outer: Activation } => ({
  inner: readActivation(settings, "recurrent_activation", "hard_sigmoid"),
  outer: readActivation(settings, "activation", "tanh"),
});

const simple: MakeCell = (settings) => {
  const { outer } = readActivations(settings);
  return {
    gates: 1,
    states: 1,
    step: (gates, [hidden], { recurrent }) => [outer(add(gates, matMul(hidden as Tensor, recurrent)))],
  };
};

/** An LSTM cell, with gates in the order input, forget, cell, output. */
const lstm: MakeCell = (settings) => {
  const { inner, outer } = readActivations(settings);
  return {
    gates: 4,
    states: 2,
    step: (gates, [hidden, cell], { recurrent }) => {
      const all = add(gates, matMul(hidden as Tensor, recurrent));
      const [input, forget, candidate, output] = split(all, 4, -1) as [Tensor, Tensor, Tensor, Tensor];
      const next = add(mul(inner(forget), cell as Tensor), mul(inner(input), outer(candidate)));
      return [mul(inner(output), outer(next)), next];
    },
  };
};

/** A GRU cell, with gates in the order update, reset, candidate. */
const gru: MakeCell = (settings, units) => {
  const { inner, outer } = readActivations(settings);
  const resetsAfter = settings.flag("reset_after", false);
  const parts = [2 * units, units];
  return {
    gates: 3,
    states: 1,
    hasRecurrentBias: resetsAfter && settings.flag("use_bias", true),
    step: (gates, [state], { recurrent, recurrentBias }) => {
      const hidden = state as Tensor;
      const [first, candidate] = split(gates, parts, -1) as [Tensor, Tensor];
      const product = (weights: Tensor, bias?: Tensor): Tensor => {
        const y = matMul(hidden, weights);
        return bias === undefined ? y : add(y, bias);
      };
      const [firstBy, candidateBy] = resetsAfter
        ? (split(product(recurrent, recurrentBias), parts, -1) as [Tensor, Tensor])
        : [matMul(hidden, split(recurrent, parts, -1)[0] as Tensor), undefined];
      const [update, reset] = split(inner(add(first, firstBy)), 2, -1) as [Tensor, Tensor];
      const kept =
        candidateBy === undefined
          ? matMul(mul(reset, hidden), split(recurrent, parts, -1)[1] as Tensor)
          : mul(reset, candidateBy);
      const next = outer(add(candidate, kept));
      return [add(next, mul(update, sub(hidden, next)))];
    },
  };
};

function overTime(
  call: Call,
  settings: Settings,
  cell: Cell,
  units: number,
): readonly [Tensor, readonly Tensor[]] {
  const [given, ...initial] = call.inputs as [Tensor, ...Tensor[]];
  const [batch = 1, time = 1, size = 1] = given.shape;
  if (given.shape.length !== 3)
    settings.refuse(`takes [batch, time, features], got ${given.shape.length} axes`);
  const turned = settings.flag("go_backwards", false) ? slice(given, [{ axis: 1, step: -1 }]) : given;
  const rate = call.training ? settings.number("dropout", 0) : 0;
  const x = rate === 0 ? turned : dropOut(turned, call.dropoutMask(rate, [batch, 1, size]), rate);
  const bias = settings.flag("use_bias", true) ? call.weight("bias") : undefined;
  const [inputBias, recurrentBias] =
    bias !== undefined && cell.hasRecurrentBias === true
      ? split(bias, 2, 0).map((row) => squeeze(row, [0]))
      : [bias, undefined];
  const product = matMul(reshape(transpose(x, [1, 0, 2]), [time * batch, size]), call.weight("kernel"));
  const projected = inputBias === undefined ? product : add(product, inputBias);
  const gates = reshape(projected, [time, batch, cell.gates * units]);
  const weights: Weights = {
    recurrent: call.weight("recurrent_kernel"),
    ...(recurrentBias === undefined ? {} : { recurrentBias }),
  };
  const start = Array.from(
    { length: cell.states },
    (_, at) => initial[at] ?? constant(zeros([batch, units])),
  );
  const stateRate = call.training ? settings.number("recurrent_dropout", 0) : 0;
  const mask = stateRate === 0 ? undefined : call.dropoutMask(stateRate, [batch, units]);
  const [state, outputs] = scan(
    (current: readonly Tensor[], element: Tensor) => {
      const [hidden, ...others] = current as readonly [Tensor, ...Tensor[]];
      const next = cell.step(
        element,
        [mask === undefined ? hidden : dropOut(hidden, mask, stateRate), ...others],
        weights,
      );
      return [next, next[0] as Tensor];
    },
    start as readonly Tensor[],
    gates,
  );
  return [transpose(outputs, [1, 0, 2]), state];
}

const recurrent =
  (make: MakeCell): LayerKind =>
  (settings) => {
    settings.expect("stateful", false);
    settings.expect("time_major", false);
    const units = settings.number("units");
    const cell = make(settings, units);
    const [sequences, states] = [
      settings.flag("return_sequences", false),
      settings.flag("return_state", false),
    ];
    return {
      weights: weightNames(
        "kernel",
        "recurrent_kernel",
        ...(settings.flag("use_bias", true) ? ["bias"] : []),
      ),
      run: (call) => {
        const [outputs, state] = overTime(call, settings, cell, units);
        return [sequences ? outputs : (state[0] as Tensor), ...(states ? state : [])];
      },
    };
  };

export const RECURRENT_LAYERS: Readonly<Record<string, LayerKind>> = {
  SimpleRNN: recurrent(simple),
  LSTM: recurrent(lstm),
  GRU: recurrent(gru),
};
