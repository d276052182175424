/** Draws initial values on the host from a key, so that they are the same for every engine. */

import { foldIn, type HostTensor, type Key, type Shape, tensor } from "@mp/core";
import { elementCount } from "@mp/core/graph";
import { hostUniform } from "@mp/graph/internal";
import { invalid } from "./errors.js";

/** Makes initial values by `(key, shape, fanIn, fanOut)`; a unit has `fanIn` inputs and `fanOut` outputs. */
export type Initializer = (key: Key, shape: Shape, fanIn: number, fanOut: number) => HostTensor<"f32">;

/** Uniform in [-limit, limit). */
export function uniform(limit: number): Initializer {
  return (key, shape) => {
    const data = hostUniform(key, elementCount(shape, "uniform"));
    for (let index = 0; index < data.length; index++) data[index] = (2 * (data[index] as number) - 1) * limit;
    return tensor(data, shape);
  };
}

/** Normal with mean 0, by the Box-Muller method. */
export function normal(standardDeviation: number): Initializer {
  return (key, shape) => tensor(drawNormal(key, elementCount(shape, "normal"), standardDeviation), shape);
}

function drawNormal(key: Key, size: number, deviation: number): Float32Array<ArrayBuffer> {
  const draws = hostUniform(key, 2 * size);
  const data = new Float32Array(size);
  for (let index = 0; index < size; index++) {
    const radius = Math.sqrt(-2 * Math.log(1 - (draws[2 * index] as number)));
    data[index] = radius * Math.cos(2 * Math.PI * (draws[2 * index + 1] as number)) * deviation;
  }
  return data;
}

/**
 * Normal with mean 0, redrawn beyond two standard deviations. `standardDeviation` is the value before this
 * truncation; the result's is 0.88 times as large.
 */
export function truncatedNormal(standardDeviation: number): Initializer {
  return (key, shape) => {
    const data = new Float32Array(elementCount(shape, "truncatedNormal"));
    // One draw in 22 is discarded, so each round fills what the previous round left.
    for (let filled = 0, round = 0; filled < data.length; round++) {
      for (const value of drawNormal(foldIn(key, round), data.length - filled, 1)) {
        if (Math.abs(value) <= 2) data[filled++] = value * standardDeviation;
      }
    }
    return tensor(data, shape);
  };
}

/** The same number for every element, rounded to f32; the key is not used. */
export function constantValue(value: number): Initializer {
  return (_key, shape) => tensor(new Float32Array(elementCount(shape, "constant")).fill(value), shape);
}

/** Glorot & Bengio 2010: uniform in ±√(6 / (fanIn + fanOut)); Keras's default. */
export const glorotUniform: Initializer = (key, shape, fanIn, fanOut) =>
  uniform(Math.sqrt(6 / (fanIn + fanOut)))(key, shape, fanIn, fanOut);

/** Glorot & Bengio 2010: normal with variance 2 / (fanIn + fanOut). */
export const glorotNormal: Initializer = (key, shape, fanIn, fanOut) =>
  normal(Math.sqrt(2 / (fanIn + fanOut)))(key, shape, fanIn, fanOut);

/** He et al. 2015 (Kaiming): normal with variance 2 / fanIn; for layers that feed a ReLU. */
export const heNormal: Initializer = (key, shape, fanIn, fanOut) =>
  normal(Math.sqrt(2 / fanIn))(key, shape, fanIn, fanOut);

/** He et al. 2015 (Kaiming): uniform in ±√(6 / fanIn), with the variance of `heNormal`. */
export const heUniform: Initializer = (key, shape, fanIn, fanOut) =>
  uniform(Math.sqrt(6 / fanIn))(key, shape, fanIn, fanOut);

/**
 * Saxe et al. 2013: a matrix of the first axis (rows) by all other axes (columns), with orthogonal rows if
 * there are fewer rows than columns, else with orthogonal columns, each of length `gain`; for recurrent
 * weights.
 * @throws MP_INVALID_ARGUMENT for a parameter of fewer than two axes
 */
export function orthogonal(gain = 1): Initializer {
  return (key, shape) => {
    const [rows] = shape;
    if (rows === undefined || shape.length < 2) {
      throw invalid(`orthogonal: takes two axes or more, got [${shape.join(", ")}]`);
    }
    const size = elementCount(shape, "orthogonal");
    const columns = size / rows;
    const [count, length] = rows <= columns ? [rows, columns] : [columns, rows];
    const vectors = orthonormal(Float64Array.from(drawNormal(key, size, 1)), count, length);
    const data = Float32Array.from({ length: size }, (_, index) => {
      const [row, column] = [Math.floor(index / columns), index % columns];
      const place = rows <= columns ? row * length + column : column * length + row;
      return gain * (vectors[place] as number);
    });
    return tensor(data, shape);
  };
}

/** Orthogonalizes by Gram-Schmidt, twice per vector, because one pass is inexact for nearly parallel vectors. */
function orthonormal(vectors: Float64Array, count: number, length: number): Float64Array {
  const vector = (index: number): Float64Array => vectors.subarray(index * length, (index + 1) * length);
  for (let index = 0; index < count; index++) {
    const own = vector(index);
    for (const _ of ["once", "twice"]) {
      for (let other = 0; other < index; other++) {
        const before = vector(other);
        let product = 0;
        for (let i = 0; i < length; i++) product += (own[i] as number) * (before[i] as number);
        for (let i = 0; i < length; i++) own[i] = (own[i] as number) - product * (before[i] as number);
      }
    }
    const norm = Math.sqrt(own.reduce((sum, value) => sum + value * value, 0));
    for (let i = 0; i < length; i++) own[i] = (own[i] as number) / norm;
  }
  return vectors;
}
