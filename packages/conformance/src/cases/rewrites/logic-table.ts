/** Comparisons, selections and bools: laws that break for NaN, zeros of either sign and wrapping integers. */
import type { Value } from "@mp/graph";
import { FLOATS, INTEGERS, type Kit, only, type PatternTable } from "./pattern.js";

const COMPARISONS = ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"] as const;

const odd = (at: number): number => at % 2;

/** Makes each pattern for each comparison. */
const eachComparison = (
  makes: Readonly<Record<string, (compare: Kit["Less"], kit: Kit) => Value>>,
): PatternTable["patterns"] =>
  Object.fromEntries(
    Object.entries(makes).flatMap(([name, make]) =>
      COMPARISONS.map((op) => [`${op}: ${name}`, (kit: Kit) => make(kit[op], kit)]),
    ),
  );

export const comparisonTable: PatternTable = {
  dtypes: [...FLOATS, ...INTEGERS],
  patterns: {
    ...eachComparison({
      "x with itself": (compare, { x }) => compare(x, x),
      "not of x with itself": (compare, { x, Not }) => Not(compare(x, x)),
      not: (compare, { x, y, Not }) => Not(compare(x, y)),
      "x - y with 0": (compare, { x, y, c, Sub }) => compare(Sub(x, y), c(0)),
      "x + 3 with y + 3": (compare, { x, y, c, Add }) => compare(Add(x, c(3)), Add(y, c(3))),
      "x + 3 with 7": (compare, { x, c, Add }) => compare(Add(x, c(3)), c(7)),
      "2 x with 2 y": (compare, { x, y, c, Mul }) => compare(Mul(x, c(2)), Mul(y, c(2))),
      "x + y with x": (compare, { x, y, Add }) => compare(Add(x, y), x),
      "x x with 0": (compare, { x, c, Mul }) => compare(Mul(x, x), c(0)),
      "max(x, y) with x": (compare, { x, y, Max }) => compare(Max(x, y), x),
      "where(x, y) with 0": (compare, { x, y, c, Where }) => Where(compare(x, y), x, c(0)),
      "where(x, y) chooses an extreme": (compare, { x, y, Where }) => Where(compare(x, y), x, y),
      "where(x, y) chooses the other": (compare, { x, y, Where }) => Where(compare(x, y), y, x),
      "both directions": (compare, { x, y, And }) => And(compare(x, y), compare(y, x)),
      "either direction": (compare, { x, y, Or }) => Or(compare(x, y), compare(y, x)),
      "x with 0 as its number": (compare, { x, c }) => compare(x, c(0)),
      "x with 3": (compare, { x, c }) => compare(c(3), x),
    }),
    "equal arms": ({ x, y, Less, Where }) => Where(Less(x, y), x, x),
    "not swaps the arms": ({ x, y, Less, Not, Where }) => Where(Not(Less(x, y)), x, y),
    "not in two choices": ({ x, y, z, Less, Not, Where }) => {
      const isNot = Not(Less(x, y));
      return Where(isNot, Where(isNot, x, y), z);
    },
    "a choice of a choice": ({ x, y, z, Less, Where }) => {
      const isLess = Less(x, y);
      return Where(isLess, Where(isLess, x, y), z);
    },
    "a choice of another choice": ({ x, y, z, Less, Where }) => Where(Less(x, y), Where(Less(y, z), x, y), z),
    "x where x equals 0": ({ x, c, Equal, Where }) => Where(Equal(x, c(0)), c(0), x),
    "1 or 0 times x": ({ x, y, z, c, Less, Where, Mul }) => Mul(z, Where(Less(x, y), c(1), c(0))),
    "a sum of chosen parts": ({ x, y, z, c, Less, Where, Add }) => {
      const isLess = Less(x, y);
      return Add(Where(isLess, z, c(0)), Where(isLess, c(0), z));
    },
    "the condition is true": ({ x, y, of, Where }) =>
      Where(
        of([1], () => 1, "bool"),
        x,
        y,
      ),
    "the condition is false": ({ x, y, of, Where }) =>
      Where(
        of([1], () => 0, "bool"),
        x,
        y,
      ),
    "the condition is a mask": ({ x, y, of, Where }) => Where(of(x.shape.slice(-1), odd, "bool"), x, y),
    "a mask as a factor": ({ x, of, dtype, Cast, Mul }) =>
      Mul(x, Cast({ to: dtype }, of(x.shape.slice(-1), odd, "bool"))),
    "a mask as a divisor of its scale": only(FLOATS, ({ x, of, c, dtype, Cast, Mul, Div }) =>
      Div(Mul(x, Cast({ to: dtype }, of(x.shape, odd, "bool"))), c(0.5)),
    ),
    "a comparison as a factor": ({ x, y, dtype, Less, Cast, Mul }) => Mul(y, Cast({ to: dtype }, Less(x, y))),
    "is NaN": only(FLOATS, ({ x, Equal, Not }) => Not(Equal(x, x))),
    "is not NaN": only(FLOATS, ({ x, IsNaN, Not }) => Not(IsNaN(x))),
    "0 in place of NaN": only(FLOATS, ({ x, c, IsNaN, Where }) => Where(IsNaN(x), c(0), x)),
    "0 in place of what differs from itself": only(FLOATS, ({ x, c, Equal, Where }) =>
      Where(Equal(x, x), x, c(0)),
    ),
    "x - x is finite": only(FLOATS, ({ x, Sub, IsNaN }) => IsNaN(Sub(x, x))),
    "0 x is finite": only(FLOATS, ({ x, c, Mul, IsNaN }) => IsNaN(Mul(x, c(0)))),
    "|x| is infinite": only(FLOATS, ({ x, Abs, IsInf }) => IsInf(Abs(x))),
    "2 x is infinite": only(FLOATS, ({ x, c, Mul, IsInf }) => IsInf(Mul(x, c(2)))),
    "x / y is infinite": only(FLOATS, ({ x, y, Div, IsInf }) => IsInf(Div(x, y))),
    "neither NaN nor infinite": only(FLOATS, ({ x, IsNaN, Not, IsInf, And }) =>
      And(Not(IsNaN(x)), Not(IsInf(x))),
    ),
    "-x compared with -y": only([...FLOATS, "i32", "i64"], ({ x, y, Neg, Less }) => Less(Neg(x), Neg(y))),
    "|x| is at least 0": only([...FLOATS, "i32", "i64"], ({ x, c, Abs, GreaterOrEqual }) =>
      GreaterOrEqual(Abs(x), c(0)),
    ),
    "|x| below 7 is x between": only([...FLOATS, "i32", "i64"], ({ x, c, Abs, Less }) => Less(Abs(x), c(7))),
  },
};

export const boolTable: PatternTable = {
  dtypes: ["bool"],
  patterns: {
    "not not x is x": ({ x, Not }) => Not(Not(x)),
    "x and x is x": ({ x, And }) => And(x, x),
    "x or x is x": ({ x, Or }) => Or(x, x),
    "x xor x is false": ({ x, Xor }) => Xor(x, x),
    "x and not x is false": ({ x, Not, And }) => And(x, Not(x)),
    "x or not x is true": ({ x, Not, Or }) => Or(x, Not(x)),
    "x xor not x is true": ({ x, Not, Xor }) => Xor(x, Not(x)),
    "not (x and y)": ({ x, y, And, Not }) => Not(And(x, y)),
    "not (x or y)": ({ x, y, Or, Not }) => Not(Or(x, y)),
    "not (x xor y)": ({ x, y, Xor, Not }) => Not(Xor(x, y)),
    "not x and not y": ({ x, y, Not, And }) => And(Not(x), Not(y)),
    "not x or not y": ({ x, y, Not, Or }) => Or(Not(x), Not(y)),
    "x and true is x": ({ x, c, And }) => And(x, c(1)),
    "x and false is false": ({ x, c, And }) => And(x, c(0)),
    "x or true is true": ({ x, c, Or }) => Or(x, c(1)),
    "x or false is x": ({ x, c, Or }) => Or(x, c(0)),
    "x xor true is not x": ({ x, c, Xor }) => Xor(x, c(1)),
    "x xor false is x": ({ x, c, Xor }) => Xor(x, c(0)),
    "x equals true is x": ({ x, c, Equal }) => Equal(x, c(1)),
    "x equals false is not x": ({ x, c, Equal }) => Equal(x, c(0)),
    "x equals y": ({ x, y, Equal, Not }) => Not(Equal(x, y)),
    "(x and y) or y is y": ({ x, y, And, Or }) => Or(And(x, y), y),
    "(x or y) and y is y": ({ x, y, Or, And }) => And(Or(x, y), y),
    "(x xor y) xor y is x": ({ x, y, Xor }) => Xor(Xor(x, y), y),
    "(x and y) or z": ({ x, y, z, And, Or }) => Or(And(x, y), z),
    "x and (y or z)": ({ x, y, z, Or, And }) => And(x, Or(y, z)),
    "x where x": ({ x, y, Where }) => Where(x, x, y),
    "y where x, else x": ({ x, y, Where }) => Where(x, y, x),
    "true where x, else false": ({ x, c, Where }) => Where(x, c(1), c(0)),
    "false where x, else true": ({ x, c, Where }) => Where(x, c(0), c(1)),
    "a choice by not x": ({ x, y, z, Not, Where }) => Where(Not(x), y, z),
    "a choice by x and y": ({ x, y, z, And, Not, Where }) => Where(And(x, y), z, Not(z)),
  },
};
