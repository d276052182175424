/** Initial values, drawn on the host from a key: the same numbers on every engine. */
import { elementCount, type HostTensor, hostUniform, type Key, type Shape, tensor } from "@mp/core";

/** Fills a parameter of that shape. `fanIn` and `fanOut` count the inputs and outputs of a unit. */
export type Initializer = (key: Key, shape: Shape, fanIn: number, fanOut: number) => HostTensor<"f32">;

/** Uniform in -limit … limit. */
export function uniform(limit: number): Initializer {
  return (key, shape) => {
    const data = hostUniform(key, elementCount(shape, "uniform"));
    for (let index = 0; index < data.length; index++) data[index] = (2 * (data[index] as number) - 1) * limit;
    return tensor(data, shape);
  };
}

/** Normal with mean 0, by Box and Muller. */
export function normal(standardDeviation: number): Initializer {
  return (key, shape) => {
    const size = elementCount(shape, "normal");
    const draws = hostUniform(key, 2 * size);
    const data = new Float32Array(size);
    for (let index = 0; index < size; index++) {
      const radius = Math.sqrt(-2 * Math.log(1 - (draws[2 * index] as number)));
      data[index] = radius * Math.cos(2 * Math.PI * (draws[2 * index + 1] as number)) * standardDeviation;
    }
    return tensor(data, shape);
  };
}

/** Every element the same, rounded to f32; draws nothing from the key. */
export function constantValue(value: number): Initializer {
  return (_key, shape) => tensor(new Float32Array(elementCount(shape, "constant")).fill(value), shape);
}

/** Glorot & Bengio 2010: uniform in ±√(6 / (fanIn + fanOut)); Keras's default. */
export const glorotUniform: Initializer = (key, shape, fanIn, fanOut) =>
  uniform(Math.sqrt(6 / (fanIn + fanOut)))(key, shape, fanIn, fanOut);

/** He et al. 2015: normal with variance 2 / fanIn; for layers that feed a ReLU. */
export const heNormal: Initializer = (key, shape, fanIn, fanOut) =>
  normal(Math.sqrt(2 / fanIn))(key, shape, fanIn, fanOut);
