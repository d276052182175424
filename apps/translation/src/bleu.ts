/** BLEU (Papineni et al. 2002) of a corpus with one reference each, without smoothing, in 0 … 100. */

const LONGEST = 4;

/** Counts each run of `size` words in a sentence. */
function counts(words: readonly string[], size: number): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (let start = 0; start + size <= words.length; start++) {
    const run = words.slice(start, start + size).join(" ");
    found.set(run, (found.get(run) ?? 0) + 1);
  }
  return found;
}

/** The BLEU of pairs of a translation and its reference, as words without spaces. */
export function bleu(
  pairs: readonly { readonly translation: readonly string[]; readonly reference: readonly string[] }[],
): number {
  let logarithms = 0;
  for (let size = 1; size <= LONGEST; size++) {
    let [matches, total] = [0, 0];
    for (const { translation, reference } of pairs) {
      const allowed = counts(reference, size);
      for (const [run, count] of counts(translation, size)) {
        matches += Math.min(count, allowed.get(run) ?? 0);
        total += count;
      }
    }
    if (matches === 0) return 0;
    logarithms += Math.log(matches / total) / LONGEST;
  }
  const length = (side: "translation" | "reference"): number =>
    pairs.reduce((sum, pair) => sum + pair[side].length, 0);
  const brevity = Math.min(0, 1 - length("reference") / length("translation"));
  return 100 * Math.exp(brevity + logarithms);
}
