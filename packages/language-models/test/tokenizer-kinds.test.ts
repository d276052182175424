// All kinds of tokenizers beside Python's library: bench/peers/tokenizer_kinds.py wrote what it gives, and has the kinds.
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadTokenizer, type Tokenizer } from "../src/tokenizer/index.js";

const FIXTURES = new URL("fixtures/tokenizer-kinds/", import.meta.url);
const unpack = async (name: string) =>
  JSON.parse(gunzipSync(await readFile(new URL(`${name}.json.gz`, FIXTURES))).toString());

/** Ids with and without special tokens; the text of the ids, without special tokens, and in reverse order. */
type Value = readonly [ids: number[], plain: number[], decoded: string, skipped: string, reversed: string];
interface Kind {
  readonly tokenizer: object;
  /** For each text, the first eight digits of its value's SHA-256. */
  readonly hashes: string;
  /** The values of the first texts, on which implementations have differed. */
  readonly prone: readonly Value[];
}
interface Reported {
  readonly tokenizer: object;
  readonly rows: readonly [text: string, ids: number[] | null, plain: number[], decoded: string | null][];
}
const { texts, kinds } = (await unpack("kinds")) as {
  readonly texts: readonly string[];
  readonly kinds: Readonly<Record<string, Kind>>;
};
const reported = (await unpack("reported")) as Readonly<Record<string, Reported>>;

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "mp-tokenizer-kinds-"));
});
afterAll(() => rm(directory, { recursive: true }));

async function load(name: string, description: object): Promise<Tokenizer> {
  const folder = join(directory, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "tokenizer.json"), JSON.stringify(description));
  return loadTokenizer(folder);
}

async function valuesIn(tokenizer: Tokenizer, text: string): Promise<Value> {
  const ids = await tokenizer.encode(text);
  return [
    ids,
    await tokenizer.encode(text, { addSpecialTokens: false }),
    await tokenizer.decode(ids),
    await tokenizer.decode(ids, { skipSpecialTokens: true }),
    await tokenizer.decode([...ids].reverse()),
  ];
}
const hash = (value: Value): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 8);

it("has 40 kinds and 500 texts", () => {
  expect([Object.keys(kinds).length, texts.length]).toEqual([40, 500]);
});

describe.each(Object.entries(kinds))("%s", (name, { tokenizer: description, hashes, prone }) => {
  it("gives Python's ids and texts", async () => {
    const tokenizer = await load(name, description);
    const values = await Promise.all(texts.map((text) => valuesIn(tokenizer, text)));
    expect(values.slice(0, prone.length)).toEqual(prone);
    expect(texts.filter((_, at) => hash(values[at] as Value) !== hashes.slice(8 * at, 8 * at + 8))).toEqual(
      [],
    );
  });

  it("streams what it decodes", async () => {
    const tokenizer = await load(name, description);
    for (const [ids, , decoded] of prone) {
      const stream = tokenizer.decodeStream();
      const pieces = await Promise.all([...ids.map((id) => stream.push(id)), stream.end()]);
      expect(pieces.join("")).toBe(decoded);
    }
  });
});

describe("reports of other libraries", () => {
  it.each(Object.entries(reported))(
    "tokenizers#917, #2334, js-base64#190, swift-transformers#4: gives Python's ids of %s",
    async (name, { tokenizer: description, rows }) => {
      const tokenizer = await load(name, description);
      for (const [text, ids, plain, decoded] of rows) {
        expect(await tokenizer.encode(text, { addSpecialTokens: false })).toEqual(plain);
        if (ids !== null) expect(await tokenizer.encode(text)).toEqual(ids);
        if (decoded !== null) expect(await tokenizer.decode(ids ?? plain)).toBe(decoded);
      }
    },
  );
});
