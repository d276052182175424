/** Operators that create values without operands. */
import type { DType } from "../../dtype.js";
import { invalid } from "../../errors.js";
import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import { type HostTensor, isHostTensor } from "../../host/host-tensor.js";
import { checkOptions } from "../../options.js";
import { shown } from "../../shown.js";
import { emit } from "../emit.js";
import { Tensor } from "../tensor.js";
import { currentBuilder } from "../trace.js";

/**
 * A number as a scalar tensor, rounded once from f64. @throws MP_OUT_OF_RANGE for a finite number beyond the dtype's range
 */
export function literal(number: number, dtype: DType = "f32"): Tensor {
  const builder = currentBuilder("literal");
  if (typeof number !== "number") {
    throw invalid(`literal: the value must be a number, got ${shown(number)}`);
  }
  checkAttribute("literal", "dtype", dtype);
  return Tensor.of(builder.literal(number, dtype));
}

/**
 * Host data as a tensor of the graph. It is part of the program, is not trained, and is uploaded to the engine once,
 * not in every run.
 */
export function constant(value: HostTensor): Tensor {
  if (!isHostTensor(value)) {
    throw invalid(
      `constant: the value must be host data, got ${shown(value)}; ${typeof value === "number" ? `literal(${value})` : "tensor(data, shape)"} makes it`,
    );
  }
  return emit("Constant", [], { value });
}

/**
 * start, start + delta, … below limit (above it for a negative delta), as a vector.
 * @throws MP_INVALID_ARGUMENT for a delta of 0
 */
export function range(
  start: number,
  limit: number,
  options: { readonly delta?: number; readonly dtype?: DType } = {},
): Tensor {
  checkOptions("Range", options, { delta: true, dtype: true });
  const { delta = 1, dtype = "i32" } = options;
  return emit("Range", [], { start, limit, delta, dtype });
}
