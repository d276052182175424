/**
 * xʸ = 2^(y · log2 x). The logarithm and its product with y are held in two f32 parts each, because in a single f32 the
 * product's error would grow with its size, up to 128, and shaders' logarithms near 1 have an absolute error of 2^-21.
 * The method is that of fdlibm's powf (Sun Microsystems, 1993). It requires that each sum and product is rounded, as in
 * separate kernels.
 */
import type { NodeWriter } from "@mp/onnx/write";
import { polynomial, SHIFT, scaleUp } from "../lowerings/accurate-functions.js";

/** The first part of 2 / ln 2, which has 5 bits. */
const HEAD = 2.875;
const TAIL = 2 / Math.LN2 - HEAD;

/** Coefficients of artanh(s) / s = 1 + s² · (1/3 + s²/5 + …), for |s| below 0.18. */
const ARTANH = [1 / 3, 1 / 5, 1 / 7, 1 / 9, 1 / 11];

/** Magnitude of exponents from which the result is 0 or infinite for every base but 1. */
const LARGEST_EXPONENT = 2 ** 33;

type Emit = (op: string, ...inputs: readonly string[]) => string;

/** x without its `dropped` lowest bits, rounded (Veltkamp 1968). */
function upperBits(x: string, dropped: number, one: Emit, number: (value: number) => string): string {
  const scaled = one("Mul", x, number(2 ** dropped + 1));
  return one("Sub", scaled, one("Sub", scaled, x));
}

/** Computes xʸ in f32. @param x finite and positive; for any other number the result is meaningless */
export function positivePower(x: string, y: string, writer: NodeWriter): string {
  const number = (value: number): string => writer.scalar(value, "f32");
  const one: Emit = (op, ...inputs) => writer.one(op, inputs);
  const [unit, two] = [number(1), number(2)];
  const clamp = (value: string, limit: number): string =>
    one("Max", one("Min", value, number(limit)), number(-limit));

  // x = m · 2^e with m about √½ to √2, without a subnormal or infinite power of two.
  const [scaled, isSmall] = scaleUp(x, writer);
  const places = one("Floor", one("Add", one("Mul", one("Log", scaled), number(Math.LOG2E)), number(0.5)));
  const m = one("Mul", one("Mul", scaled, number(0.25)), one("Pow", two, one("Sub", two, places)));
  const e = one("Sub", places, one("Where", isSmall, number(SHIFT), number(0)));

  // s = (m - 1) / (m + 1) = head + tail, where the head has so few bits that its products below are exact.
  const [above, below] = [one("Sub", m, unit), one("Add", m, unit)];
  const s = one("Div", above, below);
  const head = upperBits(s, 16, one, number);
  const upper = upperBits(m, 12, one, number);
  const left = one("Sub", above, one("Mul", head, one("Add", upper, unit)));
  const tail = one("Div", one("Sub", left, one("Mul", head, one("Sub", m, upper))), below);

  // log2 x = e + main + rest
  const square = one("Mul", s, s);
  const series = one("Mul", one("Mul", s, square), polynomial(square, ARTANH, writer));
  const small = one("Mul", one("Add", tail, series), number(HEAD + TAIL));
  const rest = one("Add", small, one("Mul", head, number(TAIL)));
  const main = one("Mul", head, number(HEAD));

  // y · log2 x = whole + part + others, of which the first two are exact.
  const exponent = clamp(y, LARGEST_EXPONENT);
  const high = upperBits(exponent, 15, one, number);
  const whole = one("Mul", high, e);
  const part = one("Mul", high, main);
  const low = one("Mul", one("Sub", exponent, high), one("Add", e, main));
  const others = one("Add", low, one("Mul", exponent, rest));

  // 2^(2n) · 2^f: two factors, since 2^(2n) may be outside the range of normal numbers where the result is not.
  const halved = one("Mul", one("Add", whole, part), number(0.5));
  const n = clamp(one("Floor", one("Add", halved, number(0.5))), 126);
  const f = one("Add", one("Add", one("Sub", whole, one("Mul", n, two)), part), others);
  const power = one("Exp", one("Mul", f, number(Math.LN2)));
  const scale = one("Pow", two, n);
  return one("Mul", one("Mul", power, scale), scale);
}
