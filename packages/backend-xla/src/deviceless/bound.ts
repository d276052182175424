import type { CompiledStep, Product } from "../compiled/index.js";
import type { PublishedRates, RatedType } from "./gpu-target-table.js";

/**
 * Times that a device's published rates allow. They are computed, not measured: bounds below which a step does not get
 * while its kernels move their bytes through the device's memory, never a speed.
 */
export interface StepBound {
  /** All bytes at the published bandwidth. */
  readonly bytesMs: number;
  /** All products at the published rate of their types. */
  readonly productsMs: number;
  /** For each kernel, the longer of both. */
  readonly boundMs: number;
}

const MILLI = 1000;

/** The time that a step's bytes and products take at published rates; no step takes less. */
export function stepBound({ kernels }: CompiledStep, rates: PublishedRates): StepBound {
  const bound = { bytesMs: 0, productsMs: 0, boundMs: 0 };
  for (const { times, bytes, products } of kernels) {
    const forBytes = (times * bytes * MILLI) / rates.bytesPerSecond;
    const forProducts = products.reduce((sum, product) => sum + times * productMs(product, rates), 0);
    bound.bytesMs += forBytes;
    bound.productsMs += forProducts;
    bound.boundMs += Math.max(forBytes, forProducts);
  }
  return bound;
}

/** No time for types that the device's maker publishes no rate for. */
function productMs({ operands, flops, mayUseTf32 }: Product, { flopsPerSecond }: PublishedRates): number {
  const rate = flopsPerSecond[ratedType(operands, mayUseTf32)];
  return rate === undefined ? 0 : (flops * MILLI) / rate;
}

/** The slowest type of the operands. */
function ratedType(operands: readonly string[], mayUseTf32: boolean): RatedType {
  if (mayUseTf32) return "tf32";
  if (operands.includes("f32")) return "f32";
  if (operands.includes("f16")) return "f16";
  return operands.includes("bf16") ? "bf16" : "f8";
}
