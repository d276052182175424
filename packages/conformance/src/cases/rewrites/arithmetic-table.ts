/** Identities of arithmetic that fail for some numbers. The name says what an optimizer might make of a chain. */
import { type ComputeDType, type DType, floatFormats, isFloat, type Value } from "@mp/graph";
import { FLOATS, INTEGERS, type Kit, type PatternTable, SIGNED } from "./pattern.js";

/** A number whose square overflows, and in halves the product with any number above 1000. */
const large = ({ dtype }: Kit): number =>
  isFloat(dtype) ? 2 ** Math.floor(floatFormats[dtype as ComputeDType].maxExponent * 0.7) : 100;

/** Floats take the sign of the dividend, integers that of the divisor. */
const rest = (kit: Kit, x: Value, divisor: Value): Value =>
  kit.by("Mod", { fmod: isFloat(kit.dtype) }, x, divisor);

const ODD: readonly DType[] = [...FLOATS, "i32", "i64"];

export const sumTable: PatternTable = {
  dtypes: [...FLOATS, ...INTEGERS],
  patterns: {
    "x - x is 0": ({ x, on }) => on("Sub", x, x),
    "x + 0 is x": ({ x, c, on }) => on("Add", x, c(0)),
    "0 + x is x": ({ x, c, on }) => on("Add", c(0), x),
    "x - 0 is x": ({ x, c, on }) => on("Sub", x, c(0)),
    "0 - x is -x": ({ x, c, on }) => on("Sub", c(0), x),
    "x + x is 2 x": ({ x, on }) => on("Add", x, x),
    "(x + y) - y is x": ({ x, y, on }) => on("Sub", on("Add", x, y), y),
    "(x + y) - x is y": ({ x, y, on }) => on("Sub", on("Add", x, y), x),
    "(x - y) + y is x": ({ x, y, on }) => on("Add", on("Sub", x, y), y),
    "y + (x - y) is x": ({ x, y, on }) => on("Add", y, on("Sub", x, y)),
    "x - (x - y) is y": ({ x, y, on }) => on("Sub", x, on("Sub", x, y)),
    "x - (x + y) is -y": ({ x, y, on }) => on("Sub", x, on("Add", x, y)),
    "(x + y) + z is x + (y + z)": ({ x, y, z, on }) => on("Add", on("Add", x, y), z),
    "x + (y + z) is (x + y) + z": ({ x, y, z, on }) => on("Add", x, on("Add", y, z)),
    "(x - y) - z is x - (y + z)": ({ x, y, z, on }) => on("Sub", on("Sub", x, y), z),
    "x - (y - z) is (x + z) - y": ({ x, y, z, on }) => on("Sub", x, on("Sub", y, z)),
    "(x - z) - (y - z) is x - y": ({ x, y, z, on }) => on("Sub", on("Sub", x, z), on("Sub", y, z)),
    "(x + y) + (x + z) is reordered": ({ x, y, z, on }) => on("Add", on("Add", x, y), on("Add", x, z)),
    "(x + 3) + 7 is x + 10": ({ x, c, on }) => on("Add", on("Add", x, c(3)), c(7)),
    "(3 + x) + 7 is x + 10": ({ x, c, on }) => on("Add", on("Add", c(3), x), c(7)),
    "(x + 3) - 3 is x": ({ x, c, on }) => on("Sub", on("Add", x, c(3)), c(3)),
    "(x - 3) + 3 is x": ({ x, c, on }) => on("Add", on("Sub", x, c(3)), c(3)),
    "3 - (7 - x) is x - 4": ({ x, c, on }) => on("Sub", c(3), on("Sub", c(7), x)),
    "(x + large) - large is x": (kit) =>
      kit.on("Sub", kit.on("Add", kit.x, kit.c(large(kit))), kit.c(large(kit))),
    "(x + large) + -large is x": (kit) =>
      kit.on("Add", kit.on("Add", kit.x, kit.c(large(kit))), kit.c(-large(kit))),
    "(x + 3) + (y + 7) is (x + y) + 10": ({ x, y, c, on }) =>
      on("Add", on("Add", x, c(3)), on("Add", y, c(7))),
    "four terms in pairs": ({ x, y, z, on }) => on("Add", on("Add", on("Add", x, y), z), x),
  },
};

/** Constants of -0, apart from the others, since some engines write them as 0. */
export const negativeZeroTable: PatternTable = {
  dtypes: FLOATS,
  patterns: {
    "x + -0 is x": ({ x, c, on }) => on("Add", x, c(-0)),
    "x - -0 is x": ({ x, c, on }) => on("Sub", x, c(-0)),
    "-0 - x is -x": ({ x, c, on }) => on("Sub", c(-0), x),
    "x / -0": ({ x, c, on }) => on("Div", x, c(-0)),
    "x -0 is -0": ({ x, c, on }) => on("Mul", x, c(-0)),
    "-0 where x is 0": ({ x, c, on }) => on("Where", on("Equal", x, c(0)), c(-0), x),
  },
};

export const productTable: PatternTable = {
  dtypes: [...FLOATS, ...INTEGERS],
  patterns: {
    "0 x is 0": ({ x, c, on }) => on("Mul", c(0), x),
    "x 0 is 0": ({ x, c, on }) => on("Mul", x, c(0)),
    "x 1 is x": ({ x, c, on }) => on("Mul", x, c(1)),
    "1 x is x": ({ x, c, on }) => on("Mul", c(1), x),
    "x 2 is x + x": ({ x, c, on }) => on("Mul", x, c(2)),
    "x x": ({ x, on }) => on("Mul", x, x),
    "x y z is x (y z)": ({ x, y, z, on }) => on("Mul", on("Mul", x, y), z),
    "x (y z) is x y z": ({ x, y, z, on }) => on("Mul", x, on("Mul", y, z)),
    "x 3 7 is x 21": ({ x, c, on }) => on("Mul", on("Mul", x, c(3)), c(7)),
    "x large large is infinite": (kit) =>
      kit.on("Mul", kit.on("Mul", kit.x, kit.c(large(kit))), kit.c(large(kit))),
    "x y + x z is x (y + z)": ({ x, y, z, on }) => on("Add", on("Mul", x, y), on("Mul", x, z)),
    "x z + y z is (x + y) z": ({ x, y, z, on }) => on("Add", on("Mul", x, z), on("Mul", y, z)),
    "x y - x z is x (y - z)": ({ x, y, z, on }) => on("Sub", on("Mul", x, y), on("Mul", x, z)),
    "x (y + z) is x y + x z": ({ x, y, z, on }) => on("Mul", x, on("Add", y, z)),
    "(x + y) (x - y) is x x - y y": ({ x, y, on }) => on("Mul", on("Add", x, y), on("Sub", x, y)),
    "x x - y y is (x + y) (x - y)": ({ x, y, on }) => on("Sub", on("Mul", x, x), on("Mul", y, y)),
    "x y + z is fused": ({ x, y, z, on }) => on("Add", on("Mul", x, y), z),
    "z - x y is fused": ({ x, y, z, on }) => on("Sub", z, on("Mul", x, y)),
    "(x + 3) 7 is 7 x + 21": ({ x, c, on }) => on("Mul", on("Add", x, c(3)), c(7)),
    "7 x + 3 x is 10 x": ({ x, c, on }) => on("Add", on("Mul", x, c(7)), on("Mul", x, c(3))),
    "x 7 - x is 6 x": ({ x, c, on }) => on("Sub", on("Mul", x, c(7)), x),
    "0 (x + y) is 0": ({ x, y, c, on }) => on("Mul", on("Add", x, y), c(0)),
    "y + 0 x is y": ({ x, y, c, on }) => on("Add", y, on("Mul", x, c(0))),
    "(x - x) y is 0": ({ x, y, on }) => on("Mul", on("Sub", x, x), y),
  },
};

export const quotientTable: PatternTable = {
  dtypes: [...FLOATS, ...INTEGERS],
  patterns: {
    "x / x is 1": ({ divisor, on }) => on("Div", divisor, divisor),
    "x / 1 is x": ({ x, c, on }) => on("Div", x, c(1)),
    "0 / x is 0": ({ divisor, c, on }) => on("Div", c(0), divisor),
    "x / 2 is x 0.5": ({ x, c, on }) => on("Div", x, c(2)),
    "x / 3 is x times its reciprocal": ({ x, c, on }) => on("Div", x, c(3)),
    "x / 8 is shifted": ({ x, c, on }) => on("Div", x, c(8)),
    "(x y) / y is x": ({ x, divisor, on }) => on("Div", on("Mul", x, divisor), divisor),
    // An ulp of a quotient may be two of the product.
    "(x / y) y is x": {
      make: ({ x, divisor, on }) => on("Mul", on("Div", x, divisor), divisor),
      slack: 2,
    },
    "(x 3) / 3 is x": ({ x, c, on }) => on("Div", on("Mul", x, c(3)), c(3)),
    "(x / 3) 3 is x": { make: ({ x, c, on }) => on("Mul", on("Div", x, c(3)), c(3)), slack: 2 },
    // 1 / 41 · 41 is below 1 in f32.
    "(x / 41) 41 is x": { make: ({ x, c, on }) => on("Mul", on("Div", x, c(41)), c(41)), slack: 2 },
    "(x / large) large is x": {
      make: (kit) => kit.on("Mul", kit.on("Div", kit.x, kit.c(large(kit))), kit.c(large(kit))),
      slack: 2,
    },
    "(x / 2) 2 is x": ({ x, c, on }) => on("Mul", on("Div", x, c(2)), c(2)),
    "(x 6) / 3 is x 2": ({ x, c, on }) => on("Div", on("Mul", x, c(6)), c(3)),
    "x / 3 / 7 is x / 21": ({ x, c, on }) => on("Div", on("Div", x, c(3)), c(7)),
    "x / large / large is 0": (kit) =>
      kit.on("Div", kit.on("Div", kit.x, kit.c(large(kit))), kit.c(large(kit))),
    "(x large) / large is x": (kit) =>
      kit.on("Div", kit.on("Mul", kit.x, kit.c(large(kit))), kit.c(large(kit))),
    "x / z + y / z is (x + y) / z": {
      make: ({ x, y, divisor, on }) => on("Add", on("Div", x, divisor), on("Div", y, divisor)),
      dtypes: INTEGERS,
    },
    "(x + y) / z is x / z + y / z": ({ x, y, divisor, on }) => on("Div", on("Add", x, y), divisor),
    "(x + 3) / 3 is x / 3 + 1": ({ x, c, on }) => on("Div", on("Add", x, c(3)), c(3)),
    "x / y / z is x / (y z)": ({ x, divisor, c, on }) => on("Div", on("Div", x, divisor), c(2)),
    "x / -1 is -x": { make: ({ x, c, on }) => on("Div", x, c(-1)), dtypes: SIGNED },
    "x / -x is -1": { make: ({ divisor, on }) => on("Div", divisor, on("Neg", divisor)), dtypes: SIGNED },
    "x / 0 is infinite": { make: ({ x, c, on }) => on("Div", x, c(0)), dtypes: FLOATS },
    "1 / (1 / x) is x": {
      make: ({ x, c, on }) => on("Div", c(1), on("Div", c(1), x)),
      dtypes: FLOATS,
    },
    "the reciprocal of the reciprocal is x": {
      make: ({ x, on }) => on("Reciprocal", on("Reciprocal", x)),
      dtypes: FLOATS,
    },
    "x times its reciprocal is 1": { make: ({ x, on }) => on("Mul", x, on("Reciprocal", x)), dtypes: FLOATS },
    "x times the reciprocal of y is x / y": {
      make: ({ x, y, on }) => on("Mul", x, on("Reciprocal", y)),
      dtypes: FLOATS,
    },
    "x / (1 / y) is x y": {
      make: ({ x, y, on }) => on("Div", x, on("Reciprocal", y)),
      dtypes: FLOATS,
    },
    "x / (y / z) is x z / y": {
      make: ({ x, divisor, on, c }) => on("Div", x, on("Div", divisor, c(2))),
      dtypes: FLOATS,
    },
    "the remainder of a remainder": {
      make: ({ x, c, by }) => by("Mod", { fmod: false }, by("Mod", { fmod: false }, x, c(12)), c(5)),
      dtypes: ["i32", "i64", "u8"],
    },
    "(x + 6) mod 6 is x mod 6": {
      make: ({ x, c, on, by }) => by("Mod", { fmod: false }, on("Add", x, c(6)), c(6)),
      dtypes: ["i32", "i64", "u8"],
    },
    "(x 6) mod 6 is 0": {
      make: ({ x, c, on, by }) => by("Mod", { fmod: false }, on("Mul", x, c(6)), c(6)),
      dtypes: ["i32", "i64", "u8"],
    },
    "x mod 1 is 0": {
      make: (kit) => rest(kit, kit.x, kit.c(1)),
      dtypes: [...FLOATS, "i32", "i64", "u8"],
    },
    "x mod 8 is masked": {
      make: (kit) => rest(kit, kit.x, kit.c(8)),
      dtypes: [...FLOATS, "i32", "i64", "u8"],
    },
    "x mod x is 0": {
      make: (kit) => rest(kit, kit.divisor, kit.divisor),
      dtypes: [...FLOATS, "i32", "i64", "u8"],
    },
    "(x / 3) 3 + x mod 3 is x": {
      make: (kit) =>
        kit.on("Add", kit.on("Mul", kit.on("Div", kit.x, kit.c(3)), kit.c(3)), rest(kit, kit.x, kit.c(3))),
      dtypes: ["i32", "i64", "u8"],
    },
  },
};

export const signTable: PatternTable = {
  dtypes: ODD,
  patterns: {
    "-(-x) is x": ({ x, on }) => on("Neg", on("Neg", x)),
    "|-x| is |x|": ({ x, on }) => on("Abs", on("Neg", x)),
    "||x|| is |x|": ({ x, on }) => on("Abs", on("Abs", x)),
    "-|x|": ({ x, on }) => on("Neg", on("Abs", x)),
    "|x y| is |x| |y|": ({ x, y, on }) => on("Abs", on("Mul", x, y)),
    "|x| |y| is |x y|": ({ x, y, on }) => on("Mul", on("Abs", x), on("Abs", y)),
    "|x x| is x x": ({ x, on }) => on("Abs", on("Mul", x, x)),
    "|x| |x| is x x": ({ x, on }) => on("Mul", on("Abs", x), on("Abs", x)),
    "-(x - y) is y - x": ({ x, y, on }) => on("Neg", on("Sub", x, y)),
    "-(x + y) is -x - y": ({ x, y, on }) => on("Neg", on("Add", x, y)),
    "x + -y is x - y": ({ x, y, on }) => on("Add", x, on("Neg", y)),
    "-x + y is y - x": ({ x, y, on }) => on("Add", on("Neg", x), y),
    "x - -y is x + y": ({ x, y, on }) => on("Sub", x, on("Neg", y)),
    "-x - y is -(x + y)": ({ x, y, on }) => on("Sub", on("Neg", x), y),
    "x + -x is 0": ({ x, on }) => on("Add", x, on("Neg", x)),
    "-x -y is x y": ({ x, y, on }) => on("Mul", on("Neg", x), on("Neg", y)),
    "-x y is -(x y)": ({ x, y, on }) => on("Mul", on("Neg", x), y),
    "x -1 is -x": ({ x, c, on }) => on("Mul", x, c(-1)),
    "x -1 -1 is x": ({ x, c, on }) => on("Mul", on("Mul", x, c(-1)), c(-1)),
    "|x - y| is |y - x|": ({ x, y, on }) => on("Abs", on("Sub", x, y)),
    "|x| + |y| is |x + y|": ({ x, y, on }) => on("Add", on("Abs", x), on("Abs", y)),
    "max(x, -x) is |x|": ({ x, on }) => on("Max", x, on("Neg", x)),
    "min(-x, -y) is -max(x, y)": ({ x, y, on }) => on("Min", on("Neg", x), on("Neg", y)),
    "-max(x, y) is min(-x, -y)": ({ x, y, on }) => on("Neg", on("Max", x, y)),
    "sign(x) |x| is x": {
      make: ({ x, on }) => on("Mul", on("Sign", x), on("Abs", x)),
      dtypes: ["i32", "i64"],
    },
    "sign(sign(x)) is sign(x)": ({ x, on }) => on("Sign", on("Sign", x)),
    "sign(-x) is -sign(x)": ({ x, on }) => on("Sign", on("Neg", x)),
    "sign(|x|) is 1": ({ x, on }) => on("Sign", on("Abs", x)),
    "x sign(x) is |x|": ({ x, on }) => on("Abs", on("Mul", x, on("Sign", x))),
    "sign(x y) is sign(x) sign(y)": ({ x, y, on }) => on("Sign", on("Mul", x, y)),
    "sign(x - y) compares": ({ x, y, on }) => on("Sign", on("Sub", x, y)),
  },
};

export const extremeTable: PatternTable = {
  dtypes: [...FLOATS, ...INTEGERS],
  patterns: {
    "max(x, x) is x": ({ x, on }) => on("Max", x, x),
    "min(x, x) is x": ({ x, on }) => on("Min", x, x),
    "max(min(x, y), y) is y": ({ x, y, on }) => on("Max", on("Min", x, y), y),
    "min(max(x, y), x) is x": ({ x, y, on }) => on("Min", on("Max", x, y), x),
    "max(max(x, y), z) is reordered": ({ x, y, z, on }) => on("Max", on("Max", x, y), z),
    "max(max(x, 3), 7) is max(x, 7)": ({ x, c, on }) => on("Max", on("Max", x, c(3)), c(7)),
    "max(max(x, 7), 3) is max(x, 7)": ({ x, c, on }) => on("Max", on("Max", x, c(7)), c(3)),
    "min(min(x, 3), 7) is min(x, 3)": ({ x, c, on }) => on("Min", on("Min", x, c(3)), c(7)),
    "min(max(x, 3), 7) is a clip": ({ x, c, on }) => on("Min", on("Max", x, c(3)), c(7)),
    "max(min(x, 3), 7) is 7": ({ x, c, on }) => on("Max", on("Min", x, c(3)), c(7)),
    "min(max(x, 7), 3) is 3": ({ x, c, on }) => on("Min", on("Max", x, c(7)), c(3)),
    "max(x, 0) is relu": ({ x, c, on }) => on("Max", x, c(0)),
    "max(0, x) is relu": ({ x, c, on }) => on("Max", c(0), x),
    "min(x, 0)": ({ x, c, on }) => on("Min", x, c(0)),
    "max(x, y) + min(x, y) is x + y": ({ x, y, on }) => on("Add", on("Max", x, y), on("Min", x, y)),
    "max(x, y) - min(x, y) is |x - y|": ({ x, y, on }) => on("Sub", on("Max", x, y), on("Min", x, y)),
    "max(x + z, y + z) is max(x, y) + z": ({ x, y, z, on }) => on("Max", on("Add", x, z), on("Add", y, z)),
    "max(x, y) + z is max(x + z, y + z)": ({ x, y, z, on }) => on("Add", on("Max", x, y), z),
    "max(2 x, 2 y) is 2 max(x, y)": ({ x, y, c, on }) => on("Max", on("Mul", x, c(2)), on("Mul", y, c(2))),
    "a clip of a clip": ({ x, by }) => by("Clip", { min: 4, max: 9 }, by("Clip", { min: 1, max: 6 }, x)),
    "a clip of a clip apart": ({ x, by }) =>
      by("Clip", { min: 7, max: 9 }, by("Clip", { min: 1, max: 3 }, x)),
    "a clip of a clip below": ({ x, by }) =>
      by("Clip", { min: 1, max: 3 }, by("Clip", { min: 7, max: 9 }, x)),
    "a clip of a clip above": ({ x, by }) => by("Clip", { min: 3 }, by("Clip", { max: 7 }, x)),
    "a clip of a clip from below": ({ x, by }) => by("Clip", { max: 3 }, by("Clip", { min: 7 }, x)),
    "an empty clip": ({ x, by }) => by("Clip", {}, x),
    "a clip to one number": ({ x, by }) => by("Clip", { min: 3, max: 3 }, x),
    "a clip of a sum": ({ x, y, on, by }) => by("Clip", { min: 1, max: 6 }, on("Add", x, y)),
    "a clip of max(x, 4)": ({ x, c, on, by }) => by("Clip", { min: 1, max: 6 }, on("Max", x, c(4))),
    "max of a clip and 4": ({ x, c, on, by }) => on("Max", by("Clip", { min: 1, max: 3 }, x), c(4)),
    "a clip of -x": { make: ({ x, on, by }) => by("Clip", { min: -1, max: 6 }, on("Neg", x)), dtypes: ODD },
    "relu of a clip": {
      make: ({ x, on, by }) => on("Relu", by("Clip", { min: -4, max: 6 }, x)),
      dtypes: FLOATS,
    },
    "relu of a negative clip": {
      make: ({ x, on, by }) => on("Relu", by("Clip", { min: -4, max: -1 }, x)),
      dtypes: FLOATS,
    },
    "a clip of relu": {
      make: ({ x, on, by }) => by("Clip", { min: -4, max: 6 }, on("Relu", x)),
      dtypes: FLOATS,
    },
    "a negative clip of relu": {
      make: ({ x, on, by }) => by("Clip", { min: -4, max: -1 }, on("Relu", x)),
      dtypes: FLOATS,
    },
    "relu of relu is relu": { make: ({ x, on }) => on("Relu", on("Relu", x)), dtypes: FLOATS },
    "relu(x) - relu(-x) is x": {
      make: ({ x, on }) => on("Sub", on("Relu", x), on("Relu", on("Neg", x))),
      dtypes: FLOATS,
    },
    "relu(x) + relu(-x) is |x|": {
      make: ({ x, on }) => on("Add", on("Relu", x), on("Relu", on("Neg", x))),
      dtypes: FLOATS,
    },
    "relu(-x)": { make: ({ x, on }) => on("Relu", on("Neg", x)), dtypes: FLOATS },
    "relu(|x|) is |x|": { make: ({ x, on }) => on("Relu", on("Abs", x)), dtypes: FLOATS },
    "|relu(x)| is relu(x)": { make: ({ x, on }) => on("Abs", on("Relu", x)), dtypes: FLOATS },
    "relu(2 x) is 2 relu(x)": { make: ({ x, c, on }) => on("Relu", on("Mul", x, c(2))), dtypes: FLOATS },
    "relu(-2 x) is -2 relu(x)": { make: ({ x, c, on }) => on("Relu", on("Mul", x, c(-2))), dtypes: FLOATS },
    "relu(x + y) is relu(x) + relu(y)": {
      make: ({ x, y, on }) => on("Relu", on("Add", x, y)),
      dtypes: FLOATS,
    },
    "relu(x) 0": { make: ({ x, c, on }) => on("Mul", on("Relu", x), c(0)), dtypes: FLOATS },
    "leaky relu of leaky relu": {
      make: ({ x, by }) => by("LeakyRelu", { alpha: 0.5 }, by("LeakyRelu", { alpha: 0.25 }, x)),
      dtypes: FLOATS,
    },
    "leaky relu of slope 0 is relu": {
      make: ({ x, by }) => by("LeakyRelu", { alpha: 0 }, x),
      dtypes: FLOATS,
    },
    "leaky relu of slope 1 is x": { make: ({ x, by }) => by("LeakyRelu", { alpha: 1 }, x), dtypes: FLOATS },
    "max(x, x / 4) is a leaky relu": {
      make: ({ x, c, on }) => on("Max", x, on("Mul", x, c(0.25))),
      dtypes: FLOATS,
    },
  },
};
