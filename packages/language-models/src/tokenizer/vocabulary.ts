/** Checks a `tokenizer.json`: the library accepts any ids and merges, and wrong ones lose text or fill the memory. */
import { shown } from "@mp/graph/internal";

type Fields = Readonly<Record<string, unknown>>;

const isId = (id: unknown): id is number =>
  Number.isInteger(id) && (id as number) >= 0 && (id as number) < 2 ** 31;

/** @returns the ids by token; some numbers may have no token @throws Error for invalid tokens, ids or merges */
export function readVocabulary(model: Fields, added: unknown): ReadonlyMap<string, number> {
  const { type, vocab, merges, unk_id: unknown, continuing_subword_prefix: prefix } = model;
  const isRanked = type === "Unigram";
  if (isRanked ? !Array.isArray(vocab) : typeof vocab !== "object" || vocab === null || Array.isArray(vocab))
    throw new Error(`its vocab must be ${isRanked ? "a list of tokens and scores" : "ids by token"}`);
  const own = isRanked
    ? (vocab as readonly unknown[]).map((entry, id) => [Array.isArray(entry) ? entry[0] : undefined, id])
    : Object.entries(vocab as Fields);
  const more = Array.isArray(added)
    ? added.map((token: Fields | null) => [token?.["content"], token?.["id"]])
    : [];
  for (const [token, id] of [...own, ...more])
    if (typeof token !== "string" || !isId(id))
      throw new Error(
        `its tokens must be texts with ids from 0 to 2^31 - 1, got ${shown(token)} with ${shown(id)}`,
      );
  const ids = new Map(own as [string, number][]);
  if (isRanked && unknown != null && !(isId(unknown) && unknown < own.length))
    throw new Error(`its unk_id must be the place of a token in its vocab or null, got ${shown(unknown)}`);
  if (type === "BPE") checkMerges(merges, ids, typeof prefix === "string" ? prefix.length : 0);
  for (const [token, id] of more as [string, number][]) ids.set(token, id);
  return ids;
}

function checkMerges(merges: unknown, ids: ReadonlyMap<unknown, number>, prefixLength: number): void {
  if (!Array.isArray(merges)) throw new Error(`its merges must be a list, got ${shown(merges)}`);
  for (const [at, merge] of merges.entries()) {
    const [left, right, ...rest] =
      typeof merge === "string" ? merge.split(" ") : Array.isArray(merge) ? merge : [];
    const isMerge = ids.has(left) && ids.has(right) && rest.length === 0;
    if (isMerge && ids.has(left + right.slice(prefixLength))) continue;
    throw new Error(`its merges[${at}] must be two tokens that make a third, got ${shown(merge)}`);
  }
}
