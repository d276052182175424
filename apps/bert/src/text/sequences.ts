import { CLS, SEP } from "./tokenizer.js";

/** Sequences of one length, all of them full: `[CLS]`, pieces of running text, `[SEP]`. */
export interface Sequences {
  /** [count, length] */
  readonly ids: Int32Array;
  readonly count: number;
  readonly length: number;
}

/** Splits texts into sequences, and drops the incomplete sequence at the end of each text. */
export function cutSequences(texts: readonly Int32Array[], length: number): Sequences {
  const stride = length - 2;
  const starts = texts.flatMap((text) =>
    Array.from({ length: Math.floor(text.length / stride) }, (_, index) =>
      text.subarray(index * stride, (index + 1) * stride),
    ),
  );
  const ids = new Int32Array(starts.length * length);
  starts.forEach((pieces, row) => {
    ids[row * length] = CLS;
    ids.set(pieces, row * length + 1);
    ids[(row + 1) * length - 1] = SEP;
  });
  return { ids, count: starts.length, length };
}
