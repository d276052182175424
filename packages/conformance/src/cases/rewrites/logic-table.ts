/** Comparisons, choices and bools: laws that NaN, zeros of either sign and wrapping integers break. */
import type { PlainOp } from "./pattern.js";
import { FLOATS, INTEGERS, type Make, type PatternTable } from "./pattern.js";

const COMPARISONS = ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"] as const;

/** The same pattern for each comparison. */
const compared = (name: string, make: (comparison: PlainOp) => Make): PatternTable["patterns"] =>
  Object.fromEntries(COMPARISONS.map((comparison) => [`${comparison}: ${name}`, make(comparison)]));

export const comparisonTable: PatternTable = {
  dtypes: [...FLOATS, ...INTEGERS],
  patterns: {
    ...compared(
      "x with itself",
      (op) =>
        ({ x, on }) =>
          on(op, x, x),
    ),
    ...compared(
      "not of x with itself",
      (op) =>
        ({ x, on }) =>
          on("Not", on(op, x, x)),
    ),
    ...compared(
      "not",
      (op) =>
        ({ x, y, on }) =>
          on("Not", on(op, x, y)),
    ),
    ...compared(
      "x - y with 0",
      (op) =>
        ({ x, y, c, on }) =>
          on(op, on("Sub", x, y), c(0)),
    ),
    ...compared(
      "x + 3 with y + 3",
      (op) =>
        ({ x, y, c, on }) =>
          on(op, on("Add", x, c(3)), on("Add", y, c(3))),
    ),
    ...compared(
      "x + 3 with 7",
      (op) =>
        ({ x, c, on }) =>
          on(op, on("Add", x, c(3)), c(7)),
    ),
    ...compared(
      "2 x with 2 y",
      (op) =>
        ({ x, y, c, on }) =>
          on(op, on("Mul", x, c(2)), on("Mul", y, c(2))),
    ),
    ...compared(
      "x + y with x",
      (op) =>
        ({ x, y, on }) =>
          on(op, on("Add", x, y), x),
    ),
    ...compared(
      "x x with 0",
      (op) =>
        ({ x, c, on }) =>
          on(op, on("Mul", x, x), c(0)),
    ),
    ...compared(
      "max(x, y) with x",
      (op) =>
        ({ x, y, on }) =>
          on(op, on("Max", x, y), x),
    ),
    ...compared(
      "where(x, y) with 0",
      (op) =>
        ({ x, y, c, on }) =>
          on("Where", on(op, x, y), x, c(0)),
    ),
    ...compared(
      "where(x, y) chooses an extreme",
      (op) =>
        ({ x, y, on }) =>
          on("Where", on(op, x, y), x, y),
    ),
    ...compared(
      "where(x, y) chooses the other",
      (op) =>
        ({ x, y, on }) =>
          on("Where", on(op, x, y), y, x),
    ),
    ...compared(
      "both directions",
      (op) =>
        ({ x, y, on }) =>
          on("And", on(op, x, y), on(op, y, x)),
    ),
    ...compared(
      "either direction",
      (op) =>
        ({ x, y, on }) =>
          on("Or", on(op, x, y), on(op, y, x)),
    ),
    ...compared(
      "x with 0 as its number",
      (op) =>
        ({ x, c, on }) =>
          on(op, x, c(0)),
    ),
    ...compared(
      "x with 3",
      (op) =>
        ({ x, c, on }) =>
          on(op, c(3), x),
    ),
    "equal arms": ({ x, y, on }) => on("Where", on("Less", x, y), x, x),
    "not swaps the arms": ({ x, y, on }) => on("Where", on("Not", on("Less", x, y)), x, y),
    "a choice of a choice": ({ x, y, z, on }) => {
      const isLess = on("Less", x, y);
      return on("Where", isLess, on("Where", isLess, x, y), z);
    },
    "a choice of another choice": ({ x, y, z, on }) =>
      on("Where", on("Less", x, y), on("Where", on("Less", y, z), x, y), z),
    "x where x equals 0": ({ x, c, on }) => on("Where", on("Equal", x, c(0)), c(0), x),
    "1 or 0 times x": ({ x, y, z, c, on }) => on("Mul", z, on("Where", on("Less", x, y), c(1), c(0))),
    "a sum of chosen parts": ({ x, y, z, c, on }) => {
      const isLess = on("Less", x, y);
      return on("Add", on("Where", isLess, z, c(0)), on("Where", isLess, c(0), z));
    },
    "the condition is true": ({ x, y, of, on }) =>
      on(
        "Where",
        of([1], () => 1, "bool"),
        x,
        y,
      ),
    "the condition is false": ({ x, y, of, on }) =>
      on(
        "Where",
        of([1], () => 0, "bool"),
        x,
        y,
      ),
    "the condition is a mask": ({ x, y, of, on }) =>
      on(
        "Where",
        of([x.shape.at(-1) ?? 1], (at) => at % 2, "bool"),
        x,
        y,
      ),
    "a mask as a factor": ({ x, of, by, on, dtype }) =>
      on(
        "Mul",
        x,
        by(
          "Cast",
          { to: dtype },
          of([x.shape.at(-1) ?? 1], (at) => at % 2, "bool"),
        ),
      ),
    "a mask as a divisor of its scale": {
      make: ({ x, of, by, on, c, dtype }) =>
        on(
          "Div",
          on(
            "Mul",
            x,
            by(
              "Cast",
              { to: dtype },
              of(x.shape, (at) => at % 2, "bool"),
            ),
          ),
          c(0.5),
        ),
      dtypes: FLOATS,
    },
    "a comparison as a factor": ({ x, y, by, on, dtype }) =>
      on("Mul", y, by("Cast", { to: dtype }, on("Less", x, y))),
    "is NaN": { make: ({ x, on }) => on("Not", on("Equal", x, x)), dtypes: FLOATS },
    "is not NaN": { make: ({ x, on }) => on("Not", on("IsNaN", x)), dtypes: FLOATS },
    "0 in place of NaN": { make: ({ x, c, on }) => on("Where", on("IsNaN", x), c(0), x), dtypes: FLOATS },
    "0 in place of what differs from itself": {
      make: ({ x, c, on }) => on("Where", on("Equal", x, x), x, c(0)),
      dtypes: FLOATS,
    },
    "x - x is finite": { make: ({ x, on }) => on("IsNaN", on("Sub", x, x)), dtypes: FLOATS },
    "0 x is finite": { make: ({ x, c, on }) => on("IsNaN", on("Mul", x, c(0))), dtypes: FLOATS },
    "|x| is infinite": { make: ({ x, on }) => on("IsInf", on("Abs", x)), dtypes: FLOATS },
    "2 x is infinite": { make: ({ x, c, on }) => on("IsInf", on("Mul", x, c(2))), dtypes: FLOATS },
    "x / y is infinite": { make: ({ x, y, on }) => on("IsInf", on("Div", x, y)), dtypes: FLOATS },
    "neither NaN nor infinite": {
      make: ({ x, on }) => on("And", on("Not", on("IsNaN", x)), on("Not", on("IsInf", x))),
      dtypes: FLOATS,
    },
    "-x compared with -y": {
      make: ({ x, y, on }) => on("Less", on("Neg", x), on("Neg", y)),
      dtypes: [...FLOATS, "i32", "i64"],
    },
    "|x| is at least 0": {
      make: ({ x, c, on }) => on("GreaterOrEqual", on("Abs", x), c(0)),
      dtypes: [...FLOATS, "i32", "i64"],
    },
    "|x| below 7 is x between": {
      make: ({ x, c, on }) => on("Less", on("Abs", x), c(7)),
      dtypes: [...FLOATS, "i32", "i64"],
    },
  },
};

export const boolTable: PatternTable = {
  dtypes: ["bool"],
  patterns: {
    "not not x is x": ({ x, on }) => on("Not", on("Not", x)),
    "x and x is x": ({ x, on }) => on("And", x, x),
    "x or x is x": ({ x, on }) => on("Or", x, x),
    "x xor x is false": ({ x, on }) => on("Xor", x, x),
    "x and not x is false": ({ x, on }) => on("And", x, on("Not", x)),
    "x or not x is true": ({ x, on }) => on("Or", x, on("Not", x)),
    "x xor not x is true": ({ x, on }) => on("Xor", x, on("Not", x)),
    "not (x and y)": ({ x, y, on }) => on("Not", on("And", x, y)),
    "not (x or y)": ({ x, y, on }) => on("Not", on("Or", x, y)),
    "not (x xor y)": ({ x, y, on }) => on("Not", on("Xor", x, y)),
    "not x and not y": ({ x, y, on }) => on("And", on("Not", x), on("Not", y)),
    "not x or not y": ({ x, y, on }) => on("Or", on("Not", x), on("Not", y)),
    "x and true is x": ({ x, c, on }) => on("And", x, c(1)),
    "x and false is false": ({ x, c, on }) => on("And", x, c(0)),
    "x or true is true": ({ x, c, on }) => on("Or", x, c(1)),
    "x or false is x": ({ x, c, on }) => on("Or", x, c(0)),
    "x xor true is not x": ({ x, c, on }) => on("Xor", x, c(1)),
    "x xor false is x": ({ x, c, on }) => on("Xor", x, c(0)),
    "x equals true is x": ({ x, c, on }) => on("Equal", x, c(1)),
    "x equals false is not x": ({ x, c, on }) => on("Equal", x, c(0)),
    "x equals y": ({ x, y, on }) => on("Not", on("Equal", x, y)),
    "(x and y) or y is y": ({ x, y, on }) => on("Or", on("And", x, y), y),
    "(x or y) and y is y": ({ x, y, on }) => on("And", on("Or", x, y), y),
    "(x xor y) xor y is x": ({ x, y, on }) => on("Xor", on("Xor", x, y), y),
    "(x and y) or z": ({ x, y, z, on }) => on("Or", on("And", x, y), z),
    "x and (y or z)": ({ x, y, z, on }) => on("And", x, on("Or", y, z)),
    "x where x": ({ x, y, on }) => on("Where", x, x, y),
    "y where x, else x": ({ x, y, on }) => on("Where", x, y, x),
    "true where x, else false": ({ x, c, on }) => on("Where", x, c(1), c(0)),
    "false where x, else true": ({ x, c, on }) => on("Where", x, c(0), c(1)),
    "a choice by not x": ({ x, y, z, on }) => on("Where", on("Not", x), y, z),
    "a choice by x and y": ({ x, y, z, on }) => on("Where", on("And", x, y), z, on("Not", z)),
  },
};
