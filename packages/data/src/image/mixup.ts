import { permutation, type RandomStream } from "../random.js";

/** The partner of each image of a batch, and the share that stays of the image. */
export interface Mixture {
  readonly partners: Uint32Array;
  readonly shares: Float32Array;
}

export function drawMixture(alpha: number, size: number, stream: RandomStream): Mixture {
  const partners = permutation(size, stream);
  return { partners, shares: Float32Array.from({ length: size }, () => drawBeta(alpha, stream)) };
}

/** A draw of Beta(alpha, alpha), by Jöhnk's method (1964), which is quick for small alphas. */
function drawBeta(alpha: number, { uniform }: RandomStream): number {
  for (;;) {
    const [a, b] = [uniform() ** (1 / alpha), uniform() ** (1 / alpha)];
    // Both may be 0 in a double.
    if (a + b > 0 && a + b <= 1) return a / (a + b);
  }
}

/** share · image + (1 - share) · partner for each image of `stride` elements. */
export function mix(
  images: Float32Array,
  stride: number,
  { partners, shares }: Mixture,
): Float32Array<ArrayBuffer> {
  return Float32Array.from(images, (value, at) => {
    const row = Math.floor(at / stride);
    const share = shares[row] as number;
    const partner = images[(partners[row] as number) * stride + (at % stride)] as number;
    return share * value + (1 - share) * partner;
  });
}
