import type { NodeWriter } from "@mp/onnx/write";

/** Arithmetic of ONNX's uint32 on names. It wraps. */
export class Unsigned {
  readonly writer: NodeWriter;

  constructor(writer: NodeWriter) {
    this.writer = writer;
  }

  /** A scalar. */
  number(value: number): string {
    return this.writer.unsigned(Uint32Array.of(value), []);
  }

  row(values: readonly number[]): string {
    return this.writer.unsigned(Uint32Array.from(values), [values.length]);
  }

  /** The sum of at least one. */
  sum(first: string, ...others: readonly string[]): string {
    return others.reduce((a, b) => this.writer.one("Add", [a, b]), first);
  }

  sub(a: string, b: string): string {
    return this.writer.one("Sub", [a, b]);
  }

  mul(a: string, b: string): string {
    return this.writer.one("Mul", [a, b]);
  }

  times(a: string, number: number): string {
    return this.mul(a, this.number(number));
  }

  quotient(a: string, number: number): string {
    return this.writer.one("Div", [a, this.number(number)]);
  }

  /** 1 where a < b, else 0: not every engine compares u32. */
  isBelow(a: string, b: string): string {
    const excess = this.sub(this.writer.one("Max", [a, b]), a);
    return this.writer.one("Min", [excess, this.number(1)]);
  }
}
