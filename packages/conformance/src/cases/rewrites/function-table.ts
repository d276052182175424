/** Identities of functions that hold only inside their domain or while nothing overflows. */
import { FLOATS, loose, type PatternTable } from "./pattern.js";

/** Slack for identities whose outer function amplifies the inner function's rounding error. */
const WIDE = 256;

export const functionTable: PatternTable = {
  dtypes: FLOATS,
  patterns: {
    "exp(log(x)) is x": loose(WIDE, ({ x, Log, Exp }) => Exp(Log(x))),
    "log(exp(x)) is x": loose(WIDE, ({ x, Exp, Log }) => Log(Exp(x))),
    "exp(x) exp(y) is exp(x + y)": loose(WIDE, ({ x, y, Exp, Mul }) => Mul(Exp(x), Exp(y))),
    "exp(x) / exp(y) is exp(x - y)": loose(WIDE, ({ x, y, Exp, Div }) => Div(Exp(x), Exp(y))),
    "1 / exp(x) is exp(-x)": loose(WIDE, ({ x, Exp, Reciprocal }) => Reciprocal(Exp(x))),
    "exp(-x) is 1 / exp(x)": loose(WIDE, ({ x, Neg, Exp }) => Exp(Neg(x))),
    "exp(x) - 1": loose(WIDE, ({ x, c, Exp, Sub }) => Sub(Exp(x), c(1))),
    "exp(0 x) is 1": ({ x, c, Mul, Exp }) => Exp(Mul(x, c(0))),
    "log(x) + log(y) is log(x y)": loose(WIDE, ({ x, y, Log, Add }) => Add(Log(x), Log(y))),
    "log(x) - log(y) is log(x / y)": loose(WIDE, ({ x, y, Log, Sub }) => Sub(Log(x), Log(y))),
    "log(x x) is 2 log(x)": loose(WIDE, ({ x, Mul, Log }) => Log(Mul(x, x))),
    "log(1 / x) is -log(x)": loose(WIDE, ({ x, Reciprocal, Log }) => Log(Reciprocal(x))),
    "log(sqrt(x)) is log(x) / 2": loose(WIDE, ({ x, Sqrt, Log }) => Log(Sqrt(x))),
    "log(|x|) is log(x)": loose(WIDE, ({ x, Abs, Log }) => Log(Abs(x))),
    "log(x^2) is 2 log(x)": loose(WIDE, ({ x, c, Pow, Log }) => Log(Pow(x, c(2)))),
    "exp(y log(x)) is x^y": loose(WIDE, ({ x, y, Log, Sign, Min, Relu, Mul, Exp }) =>
      Exp(Mul(Log(x), Relu(Min(y, Sign(y))))),
    ),
    "sqrt(x x) is |x|": ({ x, Mul, Sqrt }) => Sqrt(Mul(x, x)),
    "sqrt(x^2) is |x|": loose(2, ({ x, c, Pow, Sqrt }) => Sqrt(Pow(x, c(2)))),
    "sqrt(x) sqrt(x) is x": ({ x, Sqrt, Mul }) => Mul(Sqrt(x), Sqrt(x)),
    "sqrt(x)^2 is x": loose(4, ({ x, c, Sqrt, Pow }) => Pow(Sqrt(x), c(2))),
    "sqrt(x) sqrt(y) is sqrt(x y)": ({ x, y, Sqrt, Mul }) => Mul(Sqrt(x), Sqrt(y)),
    "sqrt(x y) is sqrt(x) sqrt(y)": ({ x, y, Mul, Sqrt }) => Sqrt(Mul(x, y)),
    "sqrt(x / y) is sqrt(x) / sqrt(y)": loose(2, ({ x, y, Div, Sqrt }) => Sqrt(Div(x, y))),
    "sqrt(1 / x) is 1 / sqrt(x)": ({ x, Reciprocal, Sqrt }) => Sqrt(Reciprocal(x)),
    "1 / sqrt(x) is a reverse square root": ({ x, Sqrt, Reciprocal }) => Reciprocal(Sqrt(x)),
    "x / sqrt(x) is sqrt(x)": ({ x, Sqrt, Div }) => Div(x, Sqrt(x)),
    "sqrt(sqrt(x)) is x^0.25": ({ x, Sqrt }) => Sqrt(Sqrt(x)),
    "x^0 is 1": ({ x, c, Pow }) => Pow(x, c(0)),
    "x^1 is x": ({ x, c, Pow }) => Pow(x, c(1)),
    "1^x is 1": ({ x, c, Pow }) => Pow(c(1), x),
    "0^x is 0": ({ x, c, Pow }) => Pow(c(0), x),
    "2^x is exp(x log(2))": ({ x, c, Pow }) => Pow(c(2), x),
    "x^2 is x x": ({ x, c, Pow }) => Pow(x, c(2)),
    "x^3 is x x x": ({ x, c, Pow }) => Pow(x, c(3)),
    "x^-1 is 1 / x": ({ x, c, Pow }) => Pow(x, c(-1)),
    "x^-2 is 1 / (x x)": ({ x, c, Pow }) => Pow(x, c(-2)),
    "x^0.5 is sqrt(x)": ({ x, c, Pow }) => Pow(x, c(0.5)),
    "x^-0.5 is 1 / sqrt(x)": ({ x, c, Pow }) => Pow(x, c(-0.5)),
    "(x^2)^0.5 is x": loose(4, ({ x, c, Pow }) => Pow(Pow(x, c(2)), c(0.5))),
    "(x^0.5)^2 is x": loose(4, ({ x, c, Pow }) => Pow(Pow(x, c(0.5)), c(2))),
    "(-x)^2 is x^2": loose(4, ({ x, c, Neg, Pow }) => Pow(Neg(x), c(2))),
    "tanh(-x) is -tanh(x)": ({ x, Neg, Tanh }) => Tanh(Neg(x)),
    "sigmoid(-x) is 1 - sigmoid(x)": ({ x, Neg, Sigmoid }) => Sigmoid(Neg(x)),
    "1 - sigmoid(x) is sigmoid(-x)": ({ x, c, Sigmoid, Sub }) => Sub(c(1), Sigmoid(x)),
    "1 / (1 + exp(-x)) is sigmoid(x)": loose(4, ({ x, c, Neg, Exp, Add, Div }) =>
      Div(c(1), Add(c(1), Exp(Neg(x)))),
    ),
    "x sigmoid(x) is a swish": ({ x, Sigmoid, Mul }) => Mul(x, Sigmoid(x)),
    "log(sigmoid(x)) is -softplus(-x)": loose(WIDE, ({ x, Sigmoid, Log }) => Log(Sigmoid(x))),
    "-softplus(-x) is log(sigmoid(x))": ({ x, Neg, Softplus }) => Neg(Softplus(Neg(x))),
    "log(1 + exp(x)) is softplus(x)": loose(WIDE, ({ x, c, Exp, Add, Log }) => Log(Add(Exp(x), c(1)))),
    "log(1 + x)": loose(WIDE, ({ x, c, Add, Log }) => Log(Add(x, c(1)))),
    "cos(-x) is cos(x)": ({ x, c, Mul, Clip, Neg, Cos }) => Cos(Neg(Clip({ min: -4, max: 4 }, Mul(x, c(1))))),
    "sin(x)^2 + cos(x)^2 is 1": loose(2, ({ x, Sin, Cos, Mul, Add }) => {
      const [sin, cos] = [Sin(x), Cos(x)];
      return Add(Mul(sin, sin), Mul(cos, cos));
    }),
    "erf(-x) is -erf(x)": ({ x, Neg, Erf }) => Erf(Neg(x)),
    "floor(floor(x)) is floor(x)": ({ x, Floor }) => Floor(Floor(x)),
    "floor(x + 0.5) rounds": ({ x, c, Add, Floor }) => Floor(Add(x, c(0.5))),
    "floor(x + 3) is floor(x) + 3": ({ x, c, Add, Floor }) => Floor(Add(x, c(3))),
    "floor(x) + 3 is floor(x + 3)": ({ x, c, Floor, Add }) => Add(Floor(x), c(3)),
    "-floor(-x) is ceil(x)": ({ x, Neg, Floor }) => Neg(Floor(Neg(x))),
    "floor(-x) is -floor(x)": ({ x, Neg, Floor }) => Floor(Neg(x)),
    "round(-x) is -round(x)": ({ x, Neg, Round }) => Round(Neg(x)),
    "round(2 x) is 2 round(x)": ({ x, c, Mul, Round }) => Round(Mul(x, c(2))),
    "floor(ceil(x)) is floor(x)": ({ x, Ceil, Floor }) => Floor(Ceil(x)),
    "x - floor(x) is x mod 1": ({ x, Floor, Sub }) => Sub(x, Floor(x)),
    "ceil(x) - floor(x) is 1": ({ x, Ceil, Floor, Sub }) => Sub(Ceil(x), Floor(x)),
    "round(x / 3) 3": ({ x, c, Mul, Floor }) => Mul(Floor(Mul(x, c(0.25))), c(4)),
    "elu of elu": ({ x, Elu }) => Elu({ alpha: 1 }, Elu({ alpha: 0.5 }, x)),
    "elu of alpha 0 is relu": ({ x, Neg, Max, Elu }) => Elu({ alpha: 0 }, Max(x, Neg(x))),
    "(x - 3) / sqrt(7 + 0.25) 2 + 1 is scaled once": loose(64, ({ x, c, Sub, Add, Sqrt, Div, Mul }) =>
      Add(Mul(Div(Sub(x, c(3)), Sqrt(Add(c(7), c(0.25)))), c(2)), c(1)),
    ),
    "(x - large) 2 is 2 x - 2 large": ({ of, dtype, filled, Sub, Mul }) => {
      const large = dtype === "f32" ? 2 ** 20 + 1 : 65;
      const near = of([4, 16], (at) => large + (at % 5) / (dtype === "bf16" ? 1 : 4));
      return Mul(
        Sub(near, filled(large)),
        of([16], (at) => 1 + at / 8),
      );
    },
  },
};
