/** Identities of arithmetic that fail for some numbers, and that an optimizer might apply; they name the patterns. */
import { type ComputeDType, type DType, floatFormats, isFloat, type Value } from "@mp/graph";
import { FLOATS, INTEGERS, type Kit, loose, only, type PatternTable, SIGNED } from "./pattern.js";

/** A float whose square overflows (in f16, its product with any number from 64 on), or the integer 100. */
const large = ({ dtype }: Kit): number =>
  isFloat(dtype) ? 2 ** Math.floor(floatFormats[dtype as ComputeDType].maxExponent * 0.7) : 100;

/** A float whose reciprocal overflows; where subnormals are flushed, one whose reciprocal is large. */
const tiny = ({ dtype, flushes }: Kit): number =>
  floatFormats[dtype as ComputeDType].minNormal / (flushes ? 1 : 8);

/** The remainder, with the sign of the dividend for floats and of the divisor for integers. */
const rest = (kit: Kit, x: Value, divisor: Value): Value => kit.Mod({ fmod: isFloat(kit.dtype) }, x, divisor);

const ODD: readonly DType[] = [...FLOATS, "i32", "i64"];

export const sumTable: PatternTable = {
  dtypes: [...FLOATS, ...INTEGERS],
  patterns: {
    "x - x is 0": ({ x, Sub }) => Sub(x, x),
    "x + 0 is x": ({ x, c, Add }) => Add(x, c(0)),
    "0 + x is x": ({ x, c, Add }) => Add(c(0), x),
    "x - 0 is x": ({ x, c, Sub }) => Sub(x, c(0)),
    "0 - x is -x": ({ x, c, Sub }) => Sub(c(0), x),
    "x + x is 2 x": ({ x, Add }) => Add(x, x),
    "(x + y) - y is x": ({ x, y, Add, Sub }) => Sub(Add(x, y), y),
    "(x + y) - x is y": ({ x, y, Add, Sub }) => Sub(Add(x, y), x),
    "(x - y) + y is x": ({ x, y, Sub, Add }) => Add(Sub(x, y), y),
    "y + (x - y) is x": ({ x, y, Sub, Add }) => Add(y, Sub(x, y)),
    "x - (x - y) is y": ({ x, y, Sub }) => Sub(x, Sub(x, y)),
    "x - (x + y) is -y": ({ x, y, Add, Sub }) => Sub(x, Add(x, y)),
    "(x + y) + z is x + (y + z)": ({ x, y, z, Add }) => Add(Add(x, y), z),
    "x + (y + z) is (x + y) + z": ({ x, y, z, Add }) => Add(x, Add(y, z)),
    "(x - y) - z is x - (y + z)": ({ x, y, z, Sub }) => Sub(Sub(x, y), z),
    "x - (y - z) is (x + z) - y": ({ x, y, z, Sub }) => Sub(x, Sub(y, z)),
    "(x - z) - (y - z) is x - y": ({ x, y, z, Sub }) => Sub(Sub(x, z), Sub(y, z)),
    "(x + y) + (x + z) is reordered": ({ x, y, z, Add }) => Add(Add(x, y), Add(x, z)),
    "(x + 3) + 7 is x + 10": ({ x, c, Add }) => Add(Add(x, c(3)), c(7)),
    "(3 + x) + 7 is x + 10": ({ x, c, Add }) => Add(Add(c(3), x), c(7)),
    "(x + 3) - 3 is x": ({ x, c, Add, Sub }) => Sub(Add(x, c(3)), c(3)),
    "(x - 3) + 3 is x": ({ x, c, Sub, Add }) => Add(Sub(x, c(3)), c(3)),
    "3 - (7 - x) is x - 4": ({ x, c, Sub }) => Sub(c(3), Sub(c(7), x)),
    "(x + large) - large is x": (kit) => kit.Sub(kit.Add(kit.x, kit.c(large(kit))), kit.c(large(kit))),
    "(x + large) + -large is x": (kit) => kit.Add(kit.Add(kit.x, kit.c(large(kit))), kit.c(-large(kit))),
    "(x + 3) + (y + 7) is (x + y) + 10": ({ x, y, c, Add }) => Add(Add(x, c(3)), Add(y, c(7))),
    "four terms in pairs": ({ x, y, z, Add }) => Add(Add(Add(x, y), z), x),
  },
};

/** Patterns with the constant -0, in a separate table, since some engines write -0 as 0. */
export const negativeZeroTable: PatternTable = {
  dtypes: FLOATS,
  patterns: {
    "x + -0 is x": ({ x, c, Add }) => Add(x, c(-0)),
    "x - -0 is x": ({ x, c, Sub }) => Sub(x, c(-0)),
    "-0 - x is -x": ({ x, c, Sub }) => Sub(c(-0), x),
    "x / -0": ({ x, c, Div }) => Div(x, c(-0)),
    "x -0 is -0": ({ x, c, Mul }) => Mul(x, c(-0)),
    "-0 where x is 0": ({ x, c, Equal, Where }) => Where(Equal(x, c(0)), c(-0), x),
  },
};

export const productTable: PatternTable = {
  dtypes: [...FLOATS, ...INTEGERS],
  patterns: {
    "0 x is 0": ({ x, c, Mul }) => Mul(c(0), x),
    "x 0 is 0": ({ x, c, Mul }) => Mul(x, c(0)),
    "x 1 is x": ({ x, c, Mul }) => Mul(x, c(1)),
    "1 x is x": ({ x, c, Mul }) => Mul(c(1), x),
    "x 2 is x + x": ({ x, c, Mul }) => Mul(x, c(2)),
    "x x": ({ x, Mul }) => Mul(x, x),
    "x y z is x (y z)": ({ x, y, z, Mul }) => Mul(Mul(x, y), z),
    "x (y z) is x y z": ({ x, y, z, Mul }) => Mul(x, Mul(y, z)),
    "x 3 7 is x 21": ({ x, c, Mul }) => Mul(Mul(x, c(3)), c(7)),
    "x large large is infinite": (kit) => kit.Mul(kit.Mul(kit.x, kit.c(large(kit))), kit.c(large(kit))),
    "x y + x z is x (y + z)": ({ x, y, z, Mul, Add }) => Add(Mul(x, y), Mul(x, z)),
    "x z + y z is (x + y) z": ({ x, y, z, Mul, Add }) => Add(Mul(x, z), Mul(y, z)),
    "x y - x z is x (y - z)": ({ x, y, z, Mul, Sub }) => Sub(Mul(x, y), Mul(x, z)),
    "x (y + z) is x y + x z": ({ x, y, z, Add, Mul }) => Mul(x, Add(y, z)),
    "(x + y) (x - y) is x x - y y": ({ x, y, Add, Sub, Mul }) => Mul(Add(x, y), Sub(x, y)),
    "x x - y y is (x + y) (x - y)": ({ x, y, Mul, Sub }) => Sub(Mul(x, x), Mul(y, y)),
    "x y + z is fused": ({ x, y, z, Mul, Add }) => Add(Mul(x, y), z),
    "z - x y is fused": ({ x, y, z, Mul, Sub }) => Sub(z, Mul(x, y)),
    "(x + 3) 7 is 7 x + 21": ({ x, c, Add, Mul }) => Mul(Add(x, c(3)), c(7)),
    "7 x + 3 x is 10 x": ({ x, c, Mul, Add }) => Add(Mul(x, c(7)), Mul(x, c(3))),
    "x 7 - x is 6 x": ({ x, c, Mul, Sub }) => Sub(Mul(x, c(7)), x),
    "0 (x + y) is 0": ({ x, y, c, Add, Mul }) => Mul(Add(x, y), c(0)),
    "y + 0 x is y": ({ x, y, c, Mul, Add }) => Add(y, Mul(x, c(0))),
    "(x - x) y is 0": ({ x, y, Sub, Mul }) => Mul(Sub(x, x), y),
  },
};

export const quotientTable: PatternTable = {
  dtypes: [...FLOATS, ...INTEGERS],
  patterns: {
    "x / x is 1": ({ divisor, Div }) => Div(divisor, divisor),
    "x / 1 is x": ({ x, c, Div }) => Div(x, c(1)),
    "0 / x is 0": ({ divisor, c, Div }) => Div(c(0), divisor),
    "x / 2 is x 0.5": ({ x, c, Div }) => Div(x, c(2)),
    "x / 3 is x times its reciprocal": ({ x, c, Div }) => Div(x, c(3)),
    "x / tiny is x times infinity": only(FLOATS, (kit) => kit.Div(kit.x, kit.c(tiny(kit)))),
    "x / 8 is shifted": ({ x, c, Div }) => Div(x, c(8)),
    "(x y) / y is x": ({ x, divisor, Mul, Div }) => Div(Mul(x, divisor), divisor),
    // An error of one ulp in the quotient may be one of two ulps in the product.
    "(x / y) y is x": loose(2, ({ x, divisor, Div, Mul }) => Mul(Div(x, divisor), divisor)),
    "(x 3) / 3 is x": ({ x, c, Mul, Div }) => Div(Mul(x, c(3)), c(3)),
    "(x / 3) 3 is x": loose(2, ({ x, c, Div, Mul }) => Mul(Div(x, c(3)), c(3))),
    // 1 / 41 · 41 is below 1 in f32.
    "(x / 41) 41 is x": loose(2, ({ x, c, Div, Mul }) => Mul(Div(x, c(41)), c(41))),
    "(x / large) large is x": loose(2, (kit) =>
      kit.Mul(kit.Div(kit.x, kit.c(large(kit))), kit.c(large(kit))),
    ),
    "(x / 2) 2 is x": ({ x, c, Div, Mul }) => Mul(Div(x, c(2)), c(2)),
    "(x 6) / 3 is x 2": ({ x, c, Mul, Div }) => Div(Mul(x, c(6)), c(3)),
    "x / 3 / 7 is x / 21": ({ x, c, Div }) => Div(Div(x, c(3)), c(7)),
    "x / large / large is 0": (kit) => kit.Div(kit.Div(kit.x, kit.c(large(kit))), kit.c(large(kit))),
    "(x large) / large is x": (kit) => kit.Div(kit.Mul(kit.x, kit.c(large(kit))), kit.c(large(kit))),
    "x / z + y / z is (x + y) / z": only(INTEGERS, ({ x, y, divisor, Div, Add }) =>
      Add(Div(x, divisor), Div(y, divisor)),
    ),
    "(x + y) / z is x / z + y / z": ({ x, y, divisor, Add, Div }) => Div(Add(x, y), divisor),
    "(x + 3) / 3 is x / 3 + 1": ({ x, c, Add, Div }) => Div(Add(x, c(3)), c(3)),
    "x / y / z is x / (y z)": ({ x, divisor, c, Div }) => Div(Div(x, divisor), c(2)),
    "x / -1 is -x": only(SIGNED, ({ x, c, Div }) => Div(x, c(-1))),
    "x / -x is -1": only(SIGNED, ({ divisor, Neg, Div }) => Div(divisor, Neg(divisor))),
    "x / 0 is infinite": only(FLOATS, ({ x, c, Div }) => Div(x, c(0))),
    "1 / (1 / x) is x": only(FLOATS, ({ x, c, Div }) => Div(c(1), Div(c(1), x))),
    "the reciprocal of the reciprocal is x": only(FLOATS, ({ x, Reciprocal }) => Reciprocal(Reciprocal(x))),
    "x times its reciprocal is 1": only(FLOATS, ({ x, Reciprocal, Mul }) => Mul(x, Reciprocal(x))),
    "x times the reciprocal of y is x / y": only(FLOATS, ({ x, y, Reciprocal, Mul }) =>
      Mul(x, Reciprocal(y)),
    ),
    "x / (1 / y) is x y": only(FLOATS, ({ x, y, Reciprocal, Div }) => Div(x, Reciprocal(y))),
    "x / (y / z) is x z / y": only(FLOATS, ({ x, divisor, c, Div }) => Div(x, Div(divisor, c(2)))),
    "the remainder of a remainder": only(["i32", "i64", "u8"], ({ x, c, Mod }) =>
      Mod({ fmod: false }, Mod({ fmod: false }, x, c(12)), c(5)),
    ),
    "(x + 6) mod 6 is x mod 6": only(["i32", "i64", "u8"], ({ x, c, Add, Mod }) =>
      Mod({ fmod: false }, Add(x, c(6)), c(6)),
    ),
    "(x 6) mod 6 is 0": only(["i32", "i64", "u8"], ({ x, c, Mul, Mod }) =>
      Mod({ fmod: false }, Mul(x, c(6)), c(6)),
    ),
    "x mod 1 is 0": only([...FLOATS, "i32", "i64", "u8"], (kit) => rest(kit, kit.x, kit.c(1))),
    "x mod 8 is masked": only([...FLOATS, "i32", "i64", "u8"], (kit) => rest(kit, kit.x, kit.c(8))),
    "x mod x is 0": only([...FLOATS, "i32", "i64", "u8"], (kit) => rest(kit, kit.divisor, kit.divisor)),
    "(x / 3) 3 + x mod 3 is x": only(["i32", "i64", "u8"], (kit) =>
      kit.Add(kit.Mul(kit.Div(kit.x, kit.c(3)), kit.c(3)), rest(kit, kit.x, kit.c(3))),
    ),
  },
};

export const signTable: PatternTable = {
  dtypes: ODD,
  patterns: {
    "-(-x) is x": ({ x, Neg }) => Neg(Neg(x)),
    "|-x| is |x|": ({ x, Neg, Abs }) => Abs(Neg(x)),
    "||x|| is |x|": ({ x, Abs }) => Abs(Abs(x)),
    "-|x|": ({ x, Abs, Neg }) => Neg(Abs(x)),
    "|x y| is |x| |y|": ({ x, y, Mul, Abs }) => Abs(Mul(x, y)),
    "|x| |y| is |x y|": ({ x, y, Abs, Mul }) => Mul(Abs(x), Abs(y)),
    "|x x| is x x": ({ x, Mul, Abs }) => Abs(Mul(x, x)),
    "|x| |x| is x x": ({ x, Abs, Mul }) => Mul(Abs(x), Abs(x)),
    "-(x - y) is y - x": ({ x, y, Sub, Neg }) => Neg(Sub(x, y)),
    "-(x + y) is -x - y": ({ x, y, Add, Neg }) => Neg(Add(x, y)),
    "x + -y is x - y": ({ x, y, Neg, Add }) => Add(x, Neg(y)),
    "-x + y is y - x": ({ x, y, Neg, Add }) => Add(Neg(x), y),
    "x - -y is x + y": ({ x, y, Neg, Sub }) => Sub(x, Neg(y)),
    "-x - y is -(x + y)": ({ x, y, Neg, Sub }) => Sub(Neg(x), y),
    "x + -x is 0": ({ x, Neg, Add }) => Add(x, Neg(x)),
    "-x -y is x y": ({ x, y, Neg, Mul }) => Mul(Neg(x), Neg(y)),
    "-x y is -(x y)": ({ x, y, Neg, Mul }) => Mul(Neg(x), y),
    "x -1 is -x": ({ x, c, Mul }) => Mul(x, c(-1)),
    "x -1 -1 is x": ({ x, c, Mul }) => Mul(Mul(x, c(-1)), c(-1)),
    "|x - y| is |y - x|": ({ x, y, Sub, Abs }) => Abs(Sub(x, y)),
    "|x| + |y| is |x + y|": ({ x, y, Abs, Add }) => Add(Abs(x), Abs(y)),
    "max(x, -x) is |x|": ({ x, Neg, Max }) => Max(x, Neg(x)),
    "min(-x, -y) is -max(x, y)": ({ x, y, Neg, Min }) => Min(Neg(x), Neg(y)),
    "-max(x, y) is min(-x, -y)": ({ x, y, Max, Neg }) => Neg(Max(x, y)),
    "sign(x) |x| is x": only(["i32", "i64"], ({ x, Sign, Abs, Mul }) => Mul(Sign(x), Abs(x))),
    "sign(sign(x)) is sign(x)": ({ x, Sign }) => Sign(Sign(x)),
    "sign(-x) is -sign(x)": ({ x, Neg, Sign }) => Sign(Neg(x)),
    "sign(|x|) is 1": ({ x, Abs, Sign }) => Sign(Abs(x)),
    "x sign(x) is |x|": ({ x, Sign, Mul, Abs }) => Abs(Mul(x, Sign(x))),
    "sign(x y) is sign(x) sign(y)": ({ x, y, Mul, Sign }) => Sign(Mul(x, y)),
    "sign(x - y) compares": ({ x, y, Sub, Sign }) => Sign(Sub(x, y)),
  },
};

export const extremeTable: PatternTable = {
  dtypes: [...FLOATS, ...INTEGERS],
  patterns: {
    "max(x, x) is x": ({ x, Max }) => Max(x, x),
    "min(x, x) is x": ({ x, Min }) => Min(x, x),
    "max(min(x, y), y) is y": ({ x, y, Min, Max }) => Max(Min(x, y), y),
    "min(max(x, y), x) is x": ({ x, y, Max, Min }) => Min(Max(x, y), x),
    "max(max(x, y), z) is reordered": ({ x, y, z, Max }) => Max(Max(x, y), z),
    "max(max(x, 3), 7) is max(x, 7)": ({ x, c, Max }) => Max(Max(x, c(3)), c(7)),
    "max(max(x, 7), 3) is max(x, 7)": ({ x, c, Max }) => Max(Max(x, c(7)), c(3)),
    "min(min(x, 3), 7) is min(x, 3)": ({ x, c, Min }) => Min(Min(x, c(3)), c(7)),
    "min(max(x, 3), 7) is a clip": ({ x, c, Max, Min }) => Min(Max(x, c(3)), c(7)),
    "max(min(x, 3), 7) is 7": ({ x, c, Min, Max }) => Max(Min(x, c(3)), c(7)),
    "min(max(x, 7), 3) is 3": ({ x, c, Max, Min }) => Min(Max(x, c(7)), c(3)),
    "max(x, 0) is relu": ({ x, c, Max }) => Max(x, c(0)),
    "max(0, x) is relu": ({ x, c, Max }) => Max(c(0), x),
    "min(x, 0)": ({ x, c, Min }) => Min(x, c(0)),
    "max(x, y) + min(x, y) is x + y": ({ x, y, Max, Min, Add }) => Add(Max(x, y), Min(x, y)),
    "max(x, y) - min(x, y) is |x - y|": ({ x, y, Max, Min, Sub }) => Sub(Max(x, y), Min(x, y)),
    "max(x + z, y + z) is max(x, y) + z": ({ x, y, z, Add, Max }) => Max(Add(x, z), Add(y, z)),
    "max(x, y) + z is max(x + z, y + z)": ({ x, y, z, Max, Add }) => Add(Max(x, y), z),
    "max(2 x, 2 y) is 2 max(x, y)": ({ x, y, c, Mul, Max }) => Max(Mul(x, c(2)), Mul(y, c(2))),
    "a clip of a clip": ({ x, Clip }) => Clip({ min: 4, max: 9 }, Clip({ min: 1, max: 6 }, x)),
    "a clip of a clip apart": ({ x, Clip }) => Clip({ min: 7, max: 9 }, Clip({ min: 1, max: 3 }, x)),
    "a clip of a clip below": ({ x, Clip }) => Clip({ min: 1, max: 3 }, Clip({ min: 7, max: 9 }, x)),
    "a clip of a clip above": ({ x, Clip }) => Clip({ min: 3 }, Clip({ max: 7 }, x)),
    "a clip of a clip from below": ({ x, Clip }) => Clip({ max: 3 }, Clip({ min: 7 }, x)),
    "an empty clip": ({ x, Clip }) => Clip({}, x),
    "a clip to one number": ({ x, Clip }) => Clip({ min: 3, max: 3 }, x),
    "a clip of a sum": ({ x, y, Add, Clip }) => Clip({ min: 1, max: 6 }, Add(x, y)),
    "a clip of max(x, 4)": ({ x, c, Max, Clip }) => Clip({ min: 1, max: 6 }, Max(x, c(4))),
    "max of a clip and 4": ({ x, c, Clip, Max }) => Max(Clip({ min: 1, max: 3 }, x), c(4)),
    "a clip of -x": only(ODD, ({ x, Neg, Clip }) => Clip({ min: -1, max: 6 }, Neg(x))),
    "relu of a clip": only(FLOATS, ({ x, Clip, Relu }) => Relu(Clip({ min: -4, max: 6 }, x))),
    "relu of a negative clip": only(FLOATS, ({ x, Clip, Relu }) => Relu(Clip({ min: -4, max: -1 }, x))),
    "a clip of relu": only(FLOATS, ({ x, Relu, Clip }) => Clip({ min: -4, max: 6 }, Relu(x))),
    "a negative clip of relu": only(FLOATS, ({ x, Relu, Clip }) => Clip({ min: -4, max: -1 }, Relu(x))),
    "relu of relu is relu": only(FLOATS, ({ x, Relu }) => Relu(Relu(x))),
    "relu(x) - relu(-x) is x": only(FLOATS, ({ x, Relu, Neg, Sub }) => Sub(Relu(x), Relu(Neg(x)))),
    "relu(x) + relu(-x) is |x|": only(FLOATS, ({ x, Relu, Neg, Add }) => Add(Relu(x), Relu(Neg(x)))),
    "relu(-x)": only(FLOATS, ({ x, Neg, Relu }) => Relu(Neg(x))),
    "relu(|x|) is |x|": only(FLOATS, ({ x, Abs, Relu }) => Relu(Abs(x))),
    "|relu(x)| is relu(x)": only(FLOATS, ({ x, Relu, Abs }) => Abs(Relu(x))),
    "relu(2 x) is 2 relu(x)": only(FLOATS, ({ x, c, Mul, Relu }) => Relu(Mul(x, c(2)))),
    "relu(-2 x) is -2 relu(x)": only(FLOATS, ({ x, c, Mul, Relu }) => Relu(Mul(x, c(-2)))),
    "relu(x + y) is relu(x) + relu(y)": only(FLOATS, ({ x, y, Add, Relu }) => Relu(Add(x, y))),
    "relu(x) 0": only(FLOATS, ({ x, c, Relu, Mul }) => Mul(Relu(x), c(0))),
    "leaky relu of leaky relu": only(FLOATS, ({ x, LeakyRelu }) =>
      LeakyRelu({ alpha: 0.5 }, LeakyRelu({ alpha: 0.25 }, x)),
    ),
    "leaky relu of slope 0 is relu": only(FLOATS, ({ x, LeakyRelu }) => LeakyRelu({ alpha: 0 }, x)),
    "leaky relu of slope 1 is x": only(FLOATS, ({ x, LeakyRelu }) => LeakyRelu({ alpha: 1 }, x)),
    "max(x, x / 4) is a leaky relu": only(FLOATS, ({ x, c, Mul, Max }) => Max(x, Mul(x, c(0.25)))),
  },
};
