// The config of one layer. Options that change nothing here (initializers, regularizers, constraints) are ignored.
import { MpError } from "@mp/graph";
import { isObject, type JsonObject, quote, refuseFile } from "./problem.js";

export class Settings {
  readonly name: string;
  readonly className: string;
  readonly config: JsonObject;

  constructor(name: string, className: string, config: JsonObject) {
    this.name = name;
    this.className = className;
    this.config = config;
  }

  /** Throws MP_UNSUPPORTED naming the layer. */
  refuse(problem: string): never {
    throw new MpError("MP_UNSUPPORTED", `fromTfjs: ${this.className} ${quote(this.name)}: ${problem}`, {
      details: { layer: this.name, className: this.className },
    });
  }

  #malformed(option: string): never {
    return refuseFile(
      `${this.className} ${quote(this.name)}: ${option} is ${JSON.stringify(this.config[option])?.slice(0, 80)}`,
      { layer: this.name, className: this.className, option },
    );
  }

  /** Refuses an option with a value that is not allowed; the option may be missing or null. */
  expect(option: string, ...allowed: readonly unknown[]): void {
    const value = this.config[option] ?? undefined;
    if (value !== undefined && !allowed.includes(value))
      this.refuse(`${option}: ${JSON.stringify(value)?.slice(0, 80)} is not read`);
  }

  number(option: string, fallback?: number): number {
    const value = this.config[option] ?? fallback;
    return typeof value === "number" && Number.isFinite(value) ? value : this.#malformed(option);
  }

  flag(option: string, fallback: boolean): boolean {
    const value = this.config[option] ?? fallback;
    return typeof value === "boolean" ? value : this.#malformed(option);
  }

  text<const T extends string>(option: string, fallback: T, ...others: readonly T[]): T {
    const value = this.config[option] ?? fallback;
    if (value === fallback || others.includes(value as T)) return value as T;
    return this.refuse(`${option}: ${JSON.stringify(value)?.slice(0, 80)} is not read`);
  }

  /** Reads a number for each of `count` axes, or one for all. */
  numbers(option: string, count: number, fallback?: number): readonly number[] {
    const value = this.config[option] ?? fallback;
    if (isCount(value)) return new Array<number>(count).fill(value);
    if (Array.isArray(value) && value.length === count && value.every(isCount)) return value;
    return this.#malformed(option);
  }

  /** Reads a list of integers of any length. */
  list(option: string): readonly number[] {
    const value = this.config[option];
    return Array.isArray(value) && value.every(Number.isSafeInteger) ? value : this.#malformed(option);
  }

  /** Reads [before, after] for each of `count` axes: one number for all, or per axis a number or a pair. */
  margins(option: string, count: number): readonly (readonly [number, number])[] {
    const value = this.config[option];
    const sides = count === 1 && isPair(value) ? [value] : value;
    if (isCount(sides)) return new Array<readonly [number, number]>(count).fill([sides, sides]);
    if (!Array.isArray(sides) || sides.length !== count) return this.#malformed(option);
    return sides.map((side: unknown) => {
      if (isCount(side)) return [side, side] as const;
      return isPair(side) ? side : this.#malformed(option);
    });
  }

  /** Reads the config of an inner layer. */
  object(option: string): JsonObject {
    const value = this.config[option];
    return isObject(value) ? value : this.#malformed(option);
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const isPair = (value: unknown): value is readonly [number, number] =>
  Array.isArray(value) && value.length === 2 && value.every(isCount);
