/** Formats numbers for readers. */

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Formats a power of two: `2⁻¹⁴`. */
export function powerOfTwo(exponent: number): string {
  const digits = [...String(Math.abs(exponent))].map((digit) => superscripts[Number(digit)]).join("");
  return `2${exponent < 0 ? "⁻" : ""}${digits}`;
}

/** Formats a loss scale, as a power of two if it is one. */
export function scaleText(scale: number): string {
  const exponent = Math.log2(scale);
  return Number.isInteger(exponent) ? powerOfTwo(exponent) : significant(scale);
}

/** Formats a number with three significant digits; from 10 000 up to a million, with six. */
export function significant(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replaceAll("-", "−");
  return String(Number(value.toPrecision(size < 1e4 ? 3 : 6))).replace("-", "−");
}

/** Formats a fraction in percent, without a line break. Only 0 becomes 0 %, and only 1 becomes 100 %. */
export function percent(share: number): string {
  if (share === 0) return "0 %";
  if (share === 1) return "100 %";
  if (share > 0.999) return "> 99.9 %";
  const value = 100 * share;
  return value < 0.0001 ? "< 0.0001 %" : `${Number(value.toPrecision(value < 10 ? 2 : 3))} %`;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count: number): string {
  const unit = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, count)) / 10)));
  return `${Number((count / 1024 ** unit).toPrecision(3))} ${UNITS[unit]}`;
}

export function count(found: number, what: string): string {
  return `${found.toLocaleString("en")} ${what}${found === 1 ? "" : "s"}`;
}
