// What may be drawn, beside a direct computation with everything sorted, and how often it is.
import { key } from "@mp/core";
import { describe, expect, it } from "vitest";
import { candidates, type Sampling, sampleToken } from "./sampling.js";

/** Random numbers from 0 to 1 by a linear congruential generator. */
function draws(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Case {
  readonly logits: Float32Array;
  readonly sampling: Sampling;
}

function caseOf(seed: number): Case {
  const draw = draws(seed);
  draw();
  const one = <T>(values: readonly T[]): T => values[Math.floor(draw() * values.length)] as T;
  const count = one([1, 2, 5, 30, 200]);
  const spread = one([0.1, 3, 20]);
  // Ties of several tokens, at some seeds.
  const step = one([0, 1]);
  const logits = Float32Array.from({ length: count }, () => {
    const value = (draw() - 0.5) * spread;
    return step === 0 ? value : Math.round(value / step) * step;
  });
  const sampling = {
    temperature: one([0.3, 1, 2]),
    topK: one([0, 1, 3, 10, 1000]),
    topP: one([1, 0.99, 0.6, 0.1]),
  };
  return { logits, sampling };
}

/** The probabilities of all tokens, computed directly from the definitions. */
function direct({ logits, sampling }: Case): readonly number[] {
  const { temperature, topK, topP } = sampling;
  const softmax = (values: readonly number[]): number[] => {
    const most = Math.max(...values);
    const powers = values.map((value) => Math.exp(value - most));
    const total = powers.reduce((sum, each) => sum + each, 0);
    return powers.map((each) => each / total);
  };
  const heated = [...logits].map((logit) => logit / temperature);
  const sorted = [...logits].sort((a, b) => b - a);
  const least = topK === 0 ? -Infinity : (sorted[Math.min(topK, sorted.length) - 1] as number);
  const shares = softmax(
    heated.map((value, token) => ((logits[token] as number) < least ? -Infinity : value)),
  );
  const order = [...shares.keys()].sort((a, b) => (shares[b] as number) - (shares[a] as number) || a - b);
  let before = 0;
  const kept = new Set<number>();
  for (const token of order) {
    if (before >= topP || shares[token] === 0) break;
    kept.add(token);
    before += shares[token] as number;
  }
  return softmax(heated.map((value, token) => (kept.has(token) ? value : -Infinity)));
}

describe("candidates", () => {
  it("has the probabilities of a direct computation, for generated logits and options", () => {
    for (let seed = 0; seed < 400; seed++) {
      const given = caseOf(seed);
      const want = direct(given);
      const { tokens, shares } = candidates(given.logits, given.sampling);
      const total = shares.reduce((sum, share) => sum + share, 0);
      const got = new Map(tokens.map((token, at) => [token, (shares[at] as number) / total]));
      for (const [token, share] of want.entries())
        expect(Math.abs((got.get(token) ?? 0) - share), `seed ${seed}, token ${token}`).toBeLessThan(1e-6);
    }
  });
});

describe("sampled", () => {
  it("draws each token as often as its probability says", () => {
    const count = 4000;
    for (const seed of [3, 11, 29, 42, 57]) {
      const given = caseOf(seed);
      const want = direct(given);
      const drawn = new Array(given.logits.length).fill(0) as number[];
      for (let draw = 0; draw < count; draw++) {
        const token = sampleToken(given.logits, given.sampling, key(seed), draw);
        drawn[token] = (drawn[token] as number) + 1;
      }
      for (const [token, share] of want.entries()) {
        const deviation = Math.sqrt((share * (1 - share)) / count);
        const difference = Math.abs((drawn[token] as number) / count - share);
        expect(difference, `seed ${seed}, token ${token}`).toBeLessThanOrEqual(5 * deviation + 1e-3);
      }
    }
  });

  it("takes the most likely token, the first of several, at a temperature of 0", () => {
    for (let seed = 0; seed < 50; seed++) {
      const { logits, sampling } = caseOf(seed);
      const token = sampleToken(logits, { ...sampling, temperature: 0 }, key(0), 0);
      expect(token).toBe(logits.indexOf(Math.max(...logits)));
    }
  });

  it("draws the same for a seed and a place, and others for another", () => {
    const logits = new Float32Array(1000);
    const sampling = { temperature: 1, topK: 0, topP: 1 };
    const drawn = (seed: number): readonly number[] =>
      Array.from({ length: 8 }, (_, draw) => sampleToken(logits, sampling, key(seed), draw));
    expect(drawn(1)).toEqual(drawn(1));
    expect(new Set([...drawn(1), ...drawn(2)]).size).toBeGreaterThan(12);
  });
});
