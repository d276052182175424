#!/usr/bin/env bash
# npm's tokenizers 0.23.2 (Hugging Face's Rust library): offsets of tokens are not indices of the JavaScript string.
#
# `getOffsets` counts code points, as Python's strings do. A JavaScript string counts UTF-16 units, of which characters
# beyond U+FFFF have two: after the first of them every offset is too small, by one for each, and `text.slice(start, end)`
# gives other characters than the token's. Nothing in the types says so. Texts without such characters hide it.
# `Array.from(text).slice(start, end).join("")` is right.
#
# Seen with tokenizers 0.23.2 and Node 20.20.2 on Linux x64, for "one 𝛼 two":
#   token two: offsets 6 9, text.slice gives " tw", by code points "two"
#
# Fails where this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund tokenizers@0.23.2
cat >look.mjs <<'NODE'
import assert from "node:assert";
import { createRequire } from "node:module";
import { Tokenizer } from "tokenizers";

const tokenizer = Tokenizer.fromString(
  JSON.stringify({
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: "WhitespaceSplit" },
    post_processor: null,
    decoder: null,
    model: { type: "WordLevel", vocab: { one: 0, two: 1, "?": 2 }, unk_token: "?" },
  }),
);
const text = "one \u{1d6fc} two";
const encoding = await tokenizer.encode(text);
const [start, end] = encoding.getOffsets()[2];
const byUnits = text.slice(start, end);
const byPoints = Array.from(text).slice(start, end).join("");
console.log("tokenizers", createRequire(import.meta.url)("tokenizers/package.json").version);
console.log(`token ${encoding.getTokens()[2]}: offsets ${start} ${end}, text.slice gives ${JSON.stringify(byUnits)}, by code points ${JSON.stringify(byPoints)}`);
assert.strictEqual(encoding.getTokens()[2], "two");
assert.strictEqual(byPoints, "two");
assert.strictEqual(byUnits, " tw");
NODE
node look.mjs
