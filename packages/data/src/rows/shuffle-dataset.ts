import type { Json } from "@mp/core/fit";
import { integer, optionsCheck } from "../check-arguments.js";
import { cursorFields, isCount, noCursor } from "../cursor-fields.js";
import { checkDataset, type Dataset, toDataset, withCursor } from "../dataset.js";
import { randomStream } from "../random.js";

export interface ShuffleOptions {
  /** Size of the buffer from which examples are drawn: as many as fit into memory. */
  readonly buffer: number;
  /** Seed from which each pass draws an order of its own. */
  readonly seed: number;
}

const checkOptions = optionsCheck<ShuffleOptions>(
  { buffer: integer(1, 2 ** 24), seed: integer() },
  "{ buffer: 1000, seed: 1 }",
);

/** An example in the buffer, its index in the pass, and the original dataset's cursor before it. */
interface BufferSlot<T> {
  readonly value: T;
  readonly index: number;
  readonly before: Json;
}

/**
 * Shuffles examples by a buffer, like `shuffle` of tf.data and of Hugging Face's streamed datasets: each example is
 * drawn from the buffer, and the original dataset's next one takes its slot. An example comes at most `buffer`
 * positions too early, and seldom much later. Use it on single examples, such as those of `readRows`, before making
 * batches.
 *
 * A cursor holds the indices of the examples in the buffer and the original cursor before the oldest. From
 * there a resumed run reads about `buffer` · ln(`buffer`) examples again; the dataset must repeat them.
 * @throws MP_INVALID_ARGUMENT for a value that is not a dataset, and for invalid options
 */
export function shuffleDataset<T>(dataset: Dataset<T>, options: ShuffleOptions): Dataset<T> {
  checkDataset("shuffleDataset: dataset", dataset);
  checkOptions("shuffleDataset", options);
  const { buffer, seed } = options;
  const signature = `shuffled by ${buffer}, seed ${seed}`;
  return toDataset((cursor, firstPass = 0) => {
    const given = cursor === undefined ? undefined : parseCursor(cursor, signature, buffer);
    const pass = given?.pass ?? firstPass;
    const source = dataset.iterate(given?.source, pass);
    const start = given ?? { pass, drawn: 0, first: 0, source: source.cursor, indices: [] };
    const slots: BufferSlot<T>[] = [];
    let { drawn, first: read } = start;
    let isFilled = false;
    const next = async (): Promise<BufferSlot<T> | undefined> => {
      const before = source.cursor;
      const { done, value } = await source.next();
      return done === true ? undefined : { value, before, index: read++ };
    };
    const fill = async (): Promise<void> => {
      const slotOf = new Map(start.indices.map((index, slot) => [index, slot]));
      for (const end = drawn + start.indices.length; read < end; ) {
        const found = await next();
        if (found === undefined) throw noCursor(toCursor(start));
        const slot = slotOf.get(found.index);
        if (slot !== undefined) slots[slot] = found;
      }
      while (slots.length < buffer) {
        const found = await next();
        if (found === undefined) break;
        slots.push(found);
      }
      isFilled = true;
    };
    async function* run(): AsyncGenerator<T, undefined> {
      try {
        await fill();
        while (slots.length > 0) {
          // Each draw has its own stream, so that a cursor needs only the number of draws.
          const slot = randomStream(seed, pass, drawn).integer(slots.length);
          const { value } = slots[slot] as BufferSlot<T>;
          const found = (await next()) ?? slots.pop();
          // `slots.pop()` may have removed the drawn slot.
          if (found !== undefined && slot < slots.length) slots[slot] = found;
          drawn++;
          yield value;
        }
      } finally {
        await source.return?.();
      }
    }
    const place = (): Json => {
      if (!isFilled) return toCursor(start);
      const oldest = slots.reduce((old, slot) => (slot.index < old.index ? slot : old), {
        index: read,
        before: source.cursor,
      });
      const indices = slots.map(({ index }) => index);
      return toCursor({ pass, drawn, first: oldest.index, source: oldest.before, indices });
    };
    const toCursor = (own: BufferPosition): Json => ({ version: 1, data: signature, ...own });
    return withCursor(run(), place);
  }, dataset.dropped);
}

/**
 * A position in a pass: the number of examples drawn, and the indices of the examples in the buffer. `first` is the
 * index of the oldest of these, and `source` the original dataset's cursor before it.
 */
interface BufferPosition {
  readonly pass: number;
  readonly drawn: number;
  readonly first: number;
  readonly source: Json;
  readonly indices: readonly number[];
}

function parseCursor(cursor: Json, signature: string, buffer: number): BufferPosition {
  const { pass, drawn, first, source, indices } = cursorFields(cursor, signature);
  const isPlace = isCount(pass) && isCount(drawn) && isCount(first) && source !== undefined;
  if (isPlace && Array.isArray(indices) && indices.length <= buffer && indices.every(isCount)) {
    return { pass, drawn, first, source, indices: indices as readonly number[] };
  }
  throw noCursor(cursor);
}
