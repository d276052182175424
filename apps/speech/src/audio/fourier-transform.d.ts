declare module "fourier-transform" {
  /** Real and imaginary parts of a real signal's spectrum, whose length is a power of two; both arrays are used again. */
  export function fft(input: Float64Array): readonly [re: Float64Array, im: Float64Array];
}
