"""Writes 40 tokenizers, each of another kind, and what Python's tokenizers makes of 500 texts. Needs tokenizers 0.23.2:

    python tokenizer_kinds.py ../../packages/language-models/test/fixtures/tokenizer-kinds

Models, normalizers, pre-tokenizers, post-processors, decoders and added tokens are those that a tokenizer.json can have.
Vocabularies are trained on words that are drawn here. Of each text, ids and decoded texts are hashed; those of texts on
which implementations have differed are written in full. `reported.json.gz` there has tokenizers and texts of public
reports, with what Python's tokenizers 0.23.3 makes of them, and a map of a Precompiled normalizer that sentencepiece wrote.
"""

import base64
import gzip
import hashlib
import json
import pathlib
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TARGET = pathlib.Path(sys.argv[1])
REPORTED = json.loads(gzip.decompress((TARGET / "reported.json.gz").read_bytes()))
SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]
PLAIN = [
    AddedToken("tokenX", single_word=True, normalized=False),
    AddedToken("Wort", single_word=True, normalized=True),
    AddedToken("[L]", lstrip=True, normalized=False),
    AddedToken("[R]", rstrip=True, normalized=False),
    AddedToken("Éa", normalized=True),
]
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
RANGES = [
    (0x61, 0x7A, 14), (0x41, 0x5A, 4), (0x20, 0x20, 10), (0x30, 0x39, 3), (0x21, 0x2F, 4), (0x5B, 0x60, 1), (0x09, 0x0D, 2),
    (0x00, 0x1F, 1), (0x7F, 0xA0, 1), (0xA1, 0xFF, 3), (0x100, 0x17F, 2), (0x300, 0x36F, 2), (0x370, 0x3FF, 1), (0x400, 0x45F, 2),
    (0x590, 0x5FF, 1), (0x600, 0x6FF, 1), (0x900, 0x97F, 1), (0xE00, 0xE7F, 1), (0x1100, 0x11FF, 1), (0x1E00, 0x1EFF, 1),
    (0x2000, 0x206F, 2), (0x2070, 0x209F, 1), (0x2100, 0x218F, 1), (0x2460, 0x24FF, 1), (0x3000, 0x30FF, 2), (0x3300, 0x33FF, 1),
    (0x4E00, 0x4FFF, 2), (0xAC00, 0xACFF, 1), (0xFB00, 0xFB06, 1), (0xFE00, 0xFE0F, 1), (0xFEFF, 0xFEFF, 2), (0xFF01, 0xFF5E, 1),
    (0xFFFC, 0xFFFD, 1), (0x1D400, 0x1D7FF, 1), (0x1F300, 0x1F64F, 1), (0x1F1E6, 0x1F1FF, 1), (0x20000, 0x2003F, 1),
    (0xE0020, 0xE007F, 1), (0x180E, 0x180E, 1), (0x200B, 0x200D, 1), (0x2581, 0x2581, 1),
]
PIECES = [*SPECIAL, *(token.content for token in PLAIN), "wort", "TOKENX", "tokenXY", "éa", "don't", "  ", "\r\n", "ß", "İ", "ﬁ", "한"]
PRONE = [
    "", " ", "  ", "\n", "\ufeff", "\ufeffab\ufeff cd", "a\u0085b\u00a0c\u2028d\u3000e", "\x00a\x1fb\x7f", "tokenX", "tokenXY ztokenX",
    "a tokenX.tokenX-tokenX_", "Wort Worte wort", "  [L]  [R]  x", "<s>a</s>", " <s> ", "x<unk>y", "Éa éa E\u0301a", "e\u0301 ﬁ ㎏ ①",
    "ÀÉÎ İSTANBUL ǅ ß ς", "don't it's we'll", "123 4567 8,9.0", "日本語 한국어 ไทย हिन्दी", "👨‍👩‍👧 🇩🇪 𝒜", "a▁b ▁c▁", "\u200b\u200d\u180e",
    "a" * 120, " " * 70 + "x", "\t\n\r\n  \n", "¿Qué? «ja» … —", "\u1112\u1161\u11ab \uac00\u0300",
]


def draw(random, length):
    pieces = []
    for _ in range(length):
        low, high, _ = random.choices(RANGES, [weight for _, _, weight in RANGES])[0]
        pieces.append(random.choice(PIECES) if random.random() < 0.08 else chr(random.randint(low, high)))
    return "".join(pieces)


numbers = random.Random("kinds")
TEXTS = PRONE + [draw(numbers, numbers.choice([1, 2, 4, 8, 16, 32])) for _ in range(460)]
TEXTS += [draw(numbers, 1) * numbers.randint(50, 300) for _ in range(500 - len(TEXTS))]
SYLLABLES = ["ba", "to", "ken", "wort", "er", "éa", "da", "ing", "grö", "ße", "x", "不", "日本", "при", "вет", "한", "1", "23", "'s", "."]
CORPUS = [" ".join("".join(numbers.choices(SYLLABLES, k=numbers.randint(1, 4))) for _ in range(8)) for _ in range(200)]


def trained(model, trainer, normalizer, pre_tokenizer, **options):
    tokenizer = Tokenizer(model)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(CORPUS, trainer(show_progress=False, special_tokens=SPECIAL, **options))
    return tokenizer


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def byte_level(normalizer=None, pre=None, size=330, **model):
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    split = pre or pre_tokenizers.ByteLevel(add_prefix_space=False)
    return trained(models.BPE(**model), trainers.BpeTrainer, normalizer, split, vocab_size=size, initial_alphabet=alphabet)


def bpe(normalizer=None, pre=None, model={}, **options):
    return trained(models.BPE(unk_token="<unk>", **model), trainers.BpeTrainer, normalizer, pre, vocab_size=150, **options)


def word_piece(normalizer=None, pre=None, **model):
    return trained(
        models.WordPiece(unk_token="<unk>", **model), trainers.WordPieceTrainer, normalizer, pre, vocab_size=150
    )


def word_level(normalizer=None, pre=None):
    return trained(models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer, normalizer, pre, vocab_size=120)


def unigram(normalizer=None, pre=None, byte_fallback=False):
    base = trained(models.Unigram(), trainers.UnigramTrainer, normalizer, pre, vocab_size=120, unk_token="<unk>")
    vocabulary = [tuple(entry) for entry in json.loads(base.to_str())["model"]["vocab"]]
    if byte_fallback:
        vocabulary += [(byte, -12.0) for byte in BYTES]
    base.model = models.Unigram(vocabulary, 0, byte_fallback)
    return base


def with_bytes(tokenizer):
    """A BPE whose vocabulary has a token for each byte, for characters that it lacks."""
    description = json.loads(tokenizer.to_str())
    vocabulary = description["model"]["vocab"]
    for byte in BYTES:
        vocabulary[byte] = len(vocabulary)
    description["model"].update(byte_fallback=True, fuse_unk=True)
    return Tokenizer.from_str(json.dumps(description))


def template(single="<s> $A </s>", pair="<s> $A </s> $B </s>"):
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=[("<s>", 1), ("</s>", 2)])


n, p, d = normalizers, pre_tokenizers, decoders
bert_processing = processors.BertProcessing(("</s>", 2), ("<s>", 1))
llama_decoder = lambda: d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)])
meta = lambda scheme, split=True: p.Metaspace(prepend_scheme=scheme, split=split)
split = lambda pattern, behavior, invert=False: p.Split(pattern, behavior, invert)
charsmap = next(part for part in REPORTED["nmt_nfkc"]["tokenizer"]["normalizer"]["normalizers"] if part["type"] == "Precompiled")
precompiled = n.Precompiled(base64.b64decode(charsmap["precompiled_charsmap"]))

# Name: tokenizer, decoder, post-processor.
KINDS = {
    "bpe-byte-level": lambda: (byte_level(), d.ByteLevel(), processors.ByteLevel(trim_offsets=True)),
    "bpe-byte-level-prefix-roberta": lambda: (
        byte_level(pre=p.ByteLevel(add_prefix_space=True)),
        d.ByteLevel(),
        processors.RobertaProcessing(("</s>", 2), ("<s>", 1)),
    ),
    "bpe-byte-level-nfc-words-template": lambda: (
        byte_level(n.NFC(), p.Sequence([split(Regex(WORDS), "isolated"), p.ByteLevel(False, use_regex=False)])),
        d.ByteLevel(),
        processors.Sequence([processors.ByteLevel(trim_offsets=False), template("<s> $A")]),
    ),
    "bpe-byte-level-ignore-merges-digits": lambda: (
        byte_level(pre=p.Sequence([p.Digits(individual_digits=True), p.ByteLevel(False)]), ignore_merges=True),
        d.ByteLevel(),
        None,
    ),
    "bpe-byte-level-normalizer": lambda: (byte_level(n.ByteLevel(), p.WhitespaceSplit()), d.ByteLevel(), None),
    "bpe-byte-level-normalizer-nfkd": lambda: (byte_level(n.Sequence([n.NFKD(), n.ByteLevel()])), d.ByteLevel(), template("$A </s>")),
    "bpe-byte-level-punctuation": lambda: (
        byte_level(pre=p.Sequence([p.Punctuation("merged_with_previous"), p.ByteLevel(False, use_regex=False)])),
        d.ByteLevel(),
        bert_processing,
    ),
    "bpe-llama": lambda: (with_bytes(bpe(n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁")]))), llama_decoder(), template("<s> $A")),
    "bpe-gemma": lambda: (
        with_bytes(bpe(n.Replace(" ", "▁"), split(" ", "merged_with_previous"))),
        d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse()]),
        template("<s> $A"),
    ),
    "bpe-metaspace-first-bytes": lambda: (with_bytes(bpe(None, meta("first"))), llama_decoder(), None),
    "bpe-suffix-lowercase": lambda: (
        bpe(n.Sequence([n.NFC(), n.Replace(Regex(r"\s+"), " "), n.Lowercase()]), p.Whitespace(), {"end_of_word_suffix": "</w>"}, end_of_word_suffix="</w>"),
        d.BPEDecoder("</w>"),
        processors.RobertaProcessing(("</s>", 2), ("<s>", 1), True, False),
    ),
    "bpe-fused-unknown": lambda: (bpe(n.StripAccents(), p.WhitespaceSplit(), {"fuse_unk": True}), None, None),
    "bpe-prefix": lambda: (
        bpe(None, p.BertPreTokenizer(), {"continuing_subword_prefix": "##"}, continuing_subword_prefix="##"),
        d.WordPiece("##", False),
        None,
    ),
    "bpe-scripts": lambda: (bpe(n.NFKC(), p.Sequence([p.UnicodeScripts(), p.Whitespace()])), d.Fuse(), None),
    "word-piece-bert": lambda: (word_piece(n.BertNormalizer(), p.BertPreTokenizer()), d.WordPiece(), bert_processing),
    "word-piece-bert-cased": lambda: (
        word_piece(n.BertNormalizer(lowercase=False), p.BertPreTokenizer()),
        d.WordPiece(cleanup=False),
        template("<s> $A </s>"),
    ),
    "word-piece-bert-accents": lambda: (
        word_piece(n.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=False), p.BertPreTokenizer()),
        d.WordPiece(),
        bert_processing,
    ),
    "word-piece-bert-strip-cased": lambda: (
        word_piece(n.BertNormalizer(strip_accents=True, lowercase=False), p.BertPreTokenizer(), max_input_chars_per_word=5),
        d.WordPiece(),
        None,
    ),
    "word-piece-digits": lambda: (word_piece(n.Lowercase(), p.Sequence([p.Whitespace(), p.Digits(True)])), d.WordPiece(), None),
    "word-piece-other-prefix": lambda: (
        word_piece(n.NFD(), p.WhitespaceSplit(), continuing_subword_prefix="@@"), d.WordPiece("@@"), template("$A </s>")
    ),
    "word-level-whitespace": lambda: (word_level(None, p.Whitespace()), None, template("<s> $A")),
    "word-level-split": lambda: (word_level(n.Strip(), p.WhitespaceSplit()), d.Fuse(), None),
    "word-level-delimiter": lambda: (word_level(n.Lowercase(), p.CharDelimiterSplit("e")), None, None),
    "word-level-scripts": lambda: (word_level(n.NFKC(), p.UnicodeScripts()), None, bert_processing),
    "word-level-inverted": lambda: (word_level(None, split(Regex(r"\w+|[^\w\s]"), "removed", True)), None, None),
    "word-level-fixed": lambda: (word_level(None, p.FixedLength(3)), d.Fuse(), None),
    "word-level-contiguous": lambda: (word_level(None, split(Regex(r"\s"), "contiguous")), d.CTC("<pad>", " ", True), None),
    "word-level-next": lambda: (word_level(n.NFC(), p.Punctuation("merged_with_next")), d.Replace(Regex(r"[aeiou]"), "_"), None),
    "unigram-always": lambda: (unigram(n.NFKC(), meta("always")), d.Metaspace(prepend_scheme="always"), template("$A </s>")),
    "unigram-never": lambda: (unigram(None, meta("never")), d.Metaspace(prepend_scheme="never"), None),
    "unigram-first-whole": lambda: (unigram(n.NFC(), meta("first", False)), d.Metaspace(prepend_scheme="first", split=False), None),
    "unigram-precompiled": lambda: (
        unigram(n.Sequence([precompiled, n.Replace(Regex(" {2,}"), " ")]), meta("always")),
        d.Metaspace(),
        template("<s> $A </s>"),
    ),
    "unigram-nmt": lambda: (unigram(n.Sequence([n.Nmt(), n.NFKC(), n.Replace(Regex(" {2,}"), " ")]), meta("always")), d.Metaspace(), None),
    "unigram-albert": lambda: (
        unigram(
            n.Sequence([n.Replace("``", '"'), n.Replace("''", '"'), n.NFKD(), n.StripAccents(), n.Lowercase()]),
            p.Sequence([p.WhitespaceSplit(), meta("always")]),
        ),
        d.Metaspace(),
        template("<s> $A </s>"),
    ),
    "unigram-bytes": lambda: (unigram(n.Prepend("▁"), None, True), llama_decoder(), None),
    "unigram-strip": lambda: (unigram(n.Strip(left=True, right=False), p.Punctuation("isolated")), d.Strip("b", 1, 0), None),
    "unigram-removed": lambda: (unigram(n.StripAccents(), p.Punctuation("removed")), None, None),
    "unigram-punctuation-contiguous": lambda: (unigram(None, p.Punctuation("contiguous")), d.Sequence([d.Fuse(), d.Replace("a", "A")]), None),
    "unigram-string-split": lambda: (unigram(None, split("o", "merged_with_next")), d.Fuse(), None),
    "bpe-cut-and-padded": lambda: (byte_level(n.Nmt()), d.ByteLevel(), template()),
}


def added(tokenizer, decoder, processor, name):
    if decoder is not None:
        tokenizer.decoder = decoder
    if processor is not None:
        tokenizer.post_processor = processor
    tokenizer.add_tokens(PLAIN)
    if name == "bpe-cut-and-padded":
        tokenizer.enable_truncation(4)
        tokenizer.enable_padding(length=8, pad_id=3, pad_token="<pad>")
    return tokenizer


results = {}
for name, make in KINDS.items():
    tokenizer = added(*make(), name)
    saved = json.loads(tokenizer.to_str())
    # transformers neither cuts nor pads unless told to.
    tokenizer = Tokenizer.from_str(json.dumps(saved))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    hashes, prone = "", []
    for at, text in enumerate(TEXTS):
        ids = tokenizer.encode(text).ids
        plain = tokenizer.encode(text, add_special_tokens=False)
        decoded = [tokenizer.decode(list(of), skip_special_tokens=skip) for of, skip in [(ids, False), (ids, True), (ids[::-1], False)]]
        value = [ids, plain.ids, *decoded]
        written = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        hashes += hashlib.sha256(written.encode()).hexdigest()[:8]
        if at < len(PRONE):
            prone.append(value)
    results[name] = {"tokenizer": saved, "hashes": hashes, "prone": prone}
assert len(results) == 40 and len(TEXTS) == 500, (len(results), len(TEXTS))
whole = json.dumps({"texts": TEXTS, "kinds": results}, separators=(",", ":"), ensure_ascii=False)
(TARGET / "kinds.json.gz").write_bytes(gzip.compress(whole.encode(), mtime=0))
print(len(whole), (TARGET / "kinds.json.gz").stat().st_size)
