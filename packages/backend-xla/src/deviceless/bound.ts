import type { CompiledStep } from "../compiled/compiled-step.js";
import type { Product } from "../compiled/products.js";
import type { PublishedRates, RatedType } from "./gpu-target-table.js";

/**
 * Lower bounds of a step's time at the rates that the device's maker publishes, for kernels that move all
 * their bytes through the device's memory. These times are computed, not measured.
 */
export interface StepBound {
  /** Time to move all bytes at the published bandwidth. */
  readonly bytesMs: number;
  /** Time for all products at the published rates of their operand types. */
  readonly productsMs: number;
  /** Sum, over all kernels, of the longer of the kernel's two times. */
  readonly boundMs: number;
}

const MILLI = 1000;

/** Computes the least time for a step's bytes and products at the published rates. */
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

/** The time of a product at the published rate; 0 if no rate is published for its operand type. */
function productMs({ operands, flops, mayUseTf32 }: Product, { flopsPerSecond }: PublishedRates): number {
  const rate = flopsPerSecond[ratedType(operands, mayUseTf32)];
  return rate === undefined ? 0 : (flops * MILLI) / rate;
}

/** The type among the operands that has the lowest rate. */
function ratedType(operands: readonly string[], mayUseTf32: boolean): RatedType {
  if (mayUseTf32) return "tf32";
  if (operands.includes("f32")) return "f32";
  if (operands.includes("f16")) return "f16";
  return operands.includes("bf16") ? "bf16" : "f8";
}
