/** Samples a token from one row of logits, on the host, because the model itself takes far longer. */
import { foldIn, type Key } from "@mp/core";
import { hostUniform } from "@mp/graph/internal";

export interface Sampling {
  /** Divides the logits; with 0, the most likely token is always taken. */
  readonly temperature: number;
  /** Considers only this many of the most likely tokens, and any as likely as the last of them; 0 for all. */
  readonly topK: number;
  /** Considers only the most likely tokens, until their probabilities add up to this; 1 for all. */
  readonly topP: number;
}

/** Samples a token by the random number with index `draw` in a random stream. */
export function sampleToken(logits: Float32Array, sampling: Sampling, stream: Key, draw: number): number {
  if (sampling.temperature === 0) return mostLikely(logits);
  const { tokens, shares } = candidates(logits, sampling);
  const total = shares.reduce((sum, share) => sum + share, 0);
  let left = (hostUniform(foldIn(stream, draw), 1)[0] as number) * total;
  for (const [at, share] of shares.entries()) {
    left -= share;
    if (left < 0) return tokens[at] as number;
  }
  // Rounding may leave a little.
  return tokens.at(-1) as number;
}

/** The token with the largest logit; of equal logits, the first. */
const mostLikely = (logits: Float32Array): number =>
  logits.reduce((best, logit, token) => (logit > (logits[best] as number) ? token : best), 0);

/** Tokens that may be drawn, with weights proportional to their probabilities. */
export type Candidates = Readonly<Record<"tokens" | "shares", readonly number[]>>;

/** Applies temperature, `topK` and `topP`, in transformers' order. */
export function candidates(logits: Float32Array, { temperature, topK, topP }: Sampling): Candidates {
  const most = logits[mostLikely(logits)] as number;
  const least = topK > 0 && topK < logits.length ? (logits.toSorted().at(-topK) as number) : -Infinity;
  const tokens: number[] = [];
  const shares: number[] = [];
  for (const [token, logit] of logits.entries()) {
    if (logit < least) continue;
    tokens.push(token);
    shares.push(Math.exp((logit - most) / temperature));
  }
  return topP < 1 ? nucleus({ tokens, shares }, topP) : { tokens, shares };
}

/** Nucleus sampling (arXiv 1904.09751): keeps the most likely tokens until their shares reach `topP`. */
function nucleus({ tokens, shares }: Candidates, topP: number): Candidates {
  const total = shares.reduce((sum, share) => sum + share, 0);
  // Shares below this add up to less than the share that is left out, so only the others are sorted.
  const least = ((1 - topP) * total) / shares.length;
  const order = [...shares.keys()]
    .filter((at) => (shares[at] as number) >= least)
    .sort((a, b) => (shares[b] as number) - (shares[a] as number));
  let sum = 0;
  const end = order.findIndex((at) => {
    sum += shares[at] as number;
    return sum >= topP * total;
  });
  const kept = end < 0 ? order : order.slice(0, end + 1);
  return { tokens: kept.map((at) => tokens[at] as number), shares: kept.map((at) => shares[at] as number) };
}
