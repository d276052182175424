/** Identities of functions, which hold inside their domain or while nothing overflows. */
import { FLOATS, type PatternTable } from "./pattern.js";

/** Bound on arguments for functions that multiply the errors of the one inside. */
const WIDE = 256;

export const functionTable: PatternTable = {
  dtypes: FLOATS,
  patterns: {
    "exp(log(x)) is x": { make: ({ x, on }) => on("Exp", on("Log", x)), slack: WIDE },
    "log(exp(x)) is x": { make: ({ x, on }) => on("Log", on("Exp", x)), slack: WIDE },
    "exp(x) exp(y) is exp(x + y)": {
      make: ({ x, y, on }) => on("Mul", on("Exp", x), on("Exp", y)),
      slack: WIDE,
    },
    "exp(x) / exp(y) is exp(x - y)": {
      make: ({ x, y, on }) => on("Div", on("Exp", x), on("Exp", y)),
      slack: WIDE,
    },
    "1 / exp(x) is exp(-x)": { make: ({ x, on }) => on("Reciprocal", on("Exp", x)), slack: WIDE },
    "exp(-x) is 1 / exp(x)": { make: ({ x, on }) => on("Exp", on("Neg", x)), slack: WIDE },
    "exp(x) - 1": { make: ({ x, c, on }) => on("Sub", on("Exp", x), c(1)), slack: WIDE },
    "exp(0 x) is 1": ({ x, c, on }) => on("Exp", on("Mul", x, c(0))),
    "log(x) + log(y) is log(x y)": {
      make: ({ x, y, on }) => on("Add", on("Log", x), on("Log", y)),
      slack: WIDE,
    },
    "log(x) - log(y) is log(x / y)": {
      make: ({ x, y, on }) => on("Sub", on("Log", x), on("Log", y)),
      slack: WIDE,
    },
    "log(x x) is 2 log(x)": { make: ({ x, on }) => on("Log", on("Mul", x, x)), slack: WIDE },
    "log(1 / x) is -log(x)": { make: ({ x, on }) => on("Log", on("Reciprocal", x)), slack: WIDE },
    "log(sqrt(x)) is log(x) / 2": { make: ({ x, on }) => on("Log", on("Sqrt", x)), slack: WIDE },
    "log(|x|) is log(x)": { make: ({ x, on }) => on("Log", on("Abs", x)), slack: WIDE },
    "log(x^2) is 2 log(x)": { make: ({ x, c, on }) => on("Log", on("Pow", x, c(2))), slack: WIDE },
    "exp(y log(x)) is x^y": {
      make: ({ x, y, on }) => on("Exp", on("Mul", on("Log", x), on("Relu", on("Min", y, on("Sign", y))))),
      slack: WIDE,
    },
    "sqrt(x x) is |x|": ({ x, on }) => on("Sqrt", on("Mul", x, x)),
    "sqrt(x^2) is |x|": { make: ({ x, c, on }) => on("Sqrt", on("Pow", x, c(2))), slack: 2 },
    "sqrt(x) sqrt(x) is x": ({ x, on }) => on("Mul", on("Sqrt", x), on("Sqrt", x)),
    "sqrt(x)^2 is x": { make: ({ x, c, on }) => on("Pow", on("Sqrt", x), c(2)), slack: 4 },
    "sqrt(x) sqrt(y) is sqrt(x y)": ({ x, y, on }) => on("Mul", on("Sqrt", x), on("Sqrt", y)),
    "sqrt(x y) is sqrt(x) sqrt(y)": ({ x, y, on }) => on("Sqrt", on("Mul", x, y)),
    "sqrt(x / y) is sqrt(x) / sqrt(y)": { make: ({ x, y, on }) => on("Sqrt", on("Div", x, y)), slack: 2 },
    "sqrt(1 / x) is 1 / sqrt(x)": ({ x, on }) => on("Sqrt", on("Reciprocal", x)),
    "1 / sqrt(x) is a reverse square root": ({ x, on }) => on("Reciprocal", on("Sqrt", x)),
    "x / sqrt(x) is sqrt(x)": ({ x, on }) => on("Div", x, on("Sqrt", x)),
    "sqrt(sqrt(x)) is x^0.25": ({ x, on }) => on("Sqrt", on("Sqrt", x)),
    "x^0 is 1": ({ x, c, on }) => on("Pow", x, c(0)),
    "x^1 is x": ({ x, c, on }) => on("Pow", x, c(1)),
    "1^x is 1": ({ x, c, on }) => on("Pow", c(1), x),
    "0^x is 0": ({ x, c, on }) => on("Pow", c(0), x),
    "2^x is exp(x log(2))": ({ x, c, on }) => on("Pow", c(2), x),
    "x^2 is x x": ({ x, c, on }) => on("Pow", x, c(2)),
    "x^3 is x x x": ({ x, c, on }) => on("Pow", x, c(3)),
    "x^-1 is 1 / x": ({ x, c, on }) => on("Pow", x, c(-1)),
    "x^-2 is 1 / (x x)": ({ x, c, on }) => on("Pow", x, c(-2)),
    "x^0.5 is sqrt(x)": ({ x, c, on }) => on("Pow", x, c(0.5)),
    "x^-0.5 is 1 / sqrt(x)": ({ x, c, on }) => on("Pow", x, c(-0.5)),
    "(x^2)^0.5 is x": { make: ({ x, c, on }) => on("Pow", on("Pow", x, c(2)), c(0.5)), slack: 4 },
    "(x^0.5)^2 is x": { make: ({ x, c, on }) => on("Pow", on("Pow", x, c(0.5)), c(2)), slack: 4 },
    "(-x)^2 is x^2": { make: ({ x, c, on }) => on("Pow", on("Neg", x), c(2)), slack: 4 },
    "tanh(-x) is -tanh(x)": ({ x, on }) => on("Tanh", on("Neg", x)),
    "sigmoid(-x) is 1 - sigmoid(x)": ({ x, on }) => on("Sigmoid", on("Neg", x)),
    "1 - sigmoid(x) is sigmoid(-x)": ({ x, c, on }) => on("Sub", c(1), on("Sigmoid", x)),
    "1 / (1 + exp(-x)) is sigmoid(x)": {
      make: ({ x, c, on }) => on("Div", c(1), on("Add", c(1), on("Exp", on("Neg", x)))),
      slack: 4,
    },
    "x sigmoid(x) is a swish": ({ x, on }) => on("Mul", x, on("Sigmoid", x)),
    "log(sigmoid(x)) is -softplus(-x)": {
      make: ({ x, on }) => on("Log", on("Sigmoid", x)),
      slack: WIDE,
    },
    "-softplus(-x) is log(sigmoid(x))": ({ x, on }) => on("Neg", on("Softplus", on("Neg", x))),
    "log(1 + exp(x)) is softplus(x)": {
      make: ({ x, c, on }) => on("Log", on("Add", on("Exp", x), c(1))),
      slack: WIDE,
    },
    "log(1 + x)": { make: ({ x, c, on }) => on("Log", on("Add", x, c(1))), slack: WIDE },
    "cos(-x) is cos(x)": ({ x, c, by, on }) =>
      on("Cos", on("Neg", by("Clip", { min: -4, max: 4 }, on("Mul", x, c(1))))),
    "sin(x)^2 + cos(x)^2 is 1": {
      make: ({ x, on }) => {
        const [sin, cos] = [on("Sin", x), on("Cos", x)];
        return on("Add", on("Mul", sin, sin), on("Mul", cos, cos));
      },
      slack: 2,
    },
    "erf(-x) is -erf(x)": ({ x, on }) => on("Erf", on("Neg", x)),
    "floor(floor(x)) is floor(x)": ({ x, on }) => on("Floor", on("Floor", x)),
    "floor(x + 0.5) rounds": ({ x, c, on }) => on("Floor", on("Add", x, c(0.5))),
    "floor(x + 3) is floor(x) + 3": ({ x, c, on }) => on("Floor", on("Add", x, c(3))),
    "floor(x) + 3 is floor(x + 3)": ({ x, c, on }) => on("Add", on("Floor", x), c(3)),
    "-floor(-x) is ceil(x)": ({ x, on }) => on("Neg", on("Floor", on("Neg", x))),
    "floor(-x) is -floor(x)": ({ x, on }) => on("Floor", on("Neg", x)),
    "round(-x) is -round(x)": ({ x, on }) => on("Round", on("Neg", x)),
    "round(2 x) is 2 round(x)": ({ x, c, on }) => on("Round", on("Mul", x, c(2))),
    "floor(ceil(x)) is floor(x)": ({ x, on }) => on("Floor", on("Ceil", x)),
    "x - floor(x) is x mod 1": ({ x, on }) => on("Sub", x, on("Floor", x)),
    "ceil(x) - floor(x) is 1": ({ x, on }) => on("Sub", on("Ceil", x), on("Floor", x)),
    "round(x / 3) 3": ({ x, c, on }) => on("Mul", on("Floor", on("Mul", x, c(0.25))), c(4)),
    "elu of elu": ({ x, by }) => by("Elu", { alpha: 1 }, by("Elu", { alpha: 0.5 }, x)),
    "elu of alpha 0 is relu": ({ x, on, by }) => by("Elu", { alpha: 0 }, on("Max", x, on("Neg", x))),
    "(x - 3) / sqrt(7 + 0.25) 2 + 1 is scaled once": {
      make: ({ x, c, on }) =>
        on("Add", on("Mul", on("Div", on("Sub", x, c(3)), on("Sqrt", on("Add", c(7), c(0.25)))), c(2)), c(1)),
      slack: 64,
    },
    "(x - large) 2 is 2 x - 2 large": ({ on, of, dtype }) => {
      const large = dtype === "f32" ? 2 ** 20 + 1 : 65;
      const near = of([4, 16], (at) => large + (at % 5) / (dtype === "bf16" ? 1 : 4));
      return on(
        "Mul",
        on(
          "Sub",
          near,
          of([], () => large),
        ),
        of([16], (at) => 1 + at / 8),
      );
    },
  },
};
