"""Writes two byte-level tokenizers and what Python's tokenizers and transformers make of random Unicode text and of chats.
Needs tokenizers and transformers (5.24 was used), no PyTorch:

    python tokenizers_chats.py ../../packages/language-models/test/fixtures/tokenizer

They are trained on this repository's LICENSE. `gpt2` splits words as GPT-2 does; `qwen` as Qwen and Llama 3 do, after NFC,
and puts a token before each text. Messages of chats have no control characters: Python's `trim` takes U+001C to U+001F for
white space, JavaScript's does not.
"""

import json
import pathlib
import random
import sys

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

TARGET = pathlib.Path(sys.argv[1])
LICENSE = (pathlib.Path(__file__).parents[2] / "LICENSE").read_text()
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# One answer marked in the three ways that white space around a tag is treated, and a template without marks.
TEMPLATES = {
    "trimmed": """{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.role == 'assistant' %}
        {%- generation %}
        {{- message.content + '<|im_end|>\\n' }}
        {%- endgeneration %}
    {%- else %}
        {{- message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}""",
    "blocks": """{% for message in messages %}
<|im_start|>{{ message.role }}
    {% if message.role == 'assistant' %}
    {% generation %}
{{ message.content }}<|im_end|>
    {% endgeneration %}
    {% else %}
{{ message.content }}<|im_end|>
    {% endif %}
{% endfor %}
{% if add_generation_prompt %}
<|im_start|>assistant
{% endif %}""",
    "inline": "{% for m in messages %}{% if m.role == 'assistant' %}A: {% generation %}{{ m.content }}{{ eos_token }}"
    "{% endgeneration %}{% else %}{{ m.role | upper }}: {{ m.content | trim }} {% endif %}{% endfor %}",
    "unmarked": "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
}
RANGES = [
    (0x20, 0x7E, 12), (0x61, 0x7A, 12), (0x20, 0x20, 8), (0x09, 0x0D, 2), (0x00, 0x1F, 1), (0xA0, 0xFF, 2),
    (0x300, 0x36F, 1), (0x400, 0x45F, 2), (0x590, 0x6FF, 1), (0x900, 0x97F, 1), (0x2000, 0x206F, 1), (0x3040, 0x30FF, 1),
    (0x4E00, 0x4FFF, 2), (0xAC00, 0xACFF, 1), (0xFE00, 0xFE0F, 1), (0xFFFD, 0xFFFD, 1), (0x1F300, 0x1F64F, 2),
    (0x1D400, 0x1D7FF, 1), (0x200D, 0x200D, 1), (0x30, 0x39, 3),
]


def text_of(random, length):
    pieces = []
    for _ in range(length):
        low, high, _ = random.choices(RANGES, [weight for _, _, weight in RANGES])[0]
        pieces.append(random.choice(SPECIAL) if random.random() < 0.01 else chr(random.randint(low, high)))
    return "".join(pieces)


def gpt2():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def qwen():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(WORDS), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A", pair="<|endoftext|> $A $B", special_tokens=[("<|endoftext|>", 0)]
    )
    return tokenizer


for name, make in {"gpt2": gpt2, "qwen": qwen}.items():
    tokenizer = make()
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=512, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(LICENSE.splitlines(keepends=True), trainer)
    folder = TARGET / name
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    config = {
        "bos_token": "<|endoftext|>",
        "eos_token": {"__type": "AddedToken", "content": "<|im_end|>", "special": True},
        "pad_token": "<|endoftext|>",
        "chat_template": TEMPLATES["trimmed"],
        "clean_up_tokenization_spaces": True,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1))
    python = PreTrainedTokenizerFast.from_pretrained(folder)

    numbers = random.Random(name)
    texts = [text_of(numbers, numbers.randint(0, 40)) for _ in range(60)]
    chats = []
    for template in TEMPLATES:
        for _ in range(4):
            content = lambda: "".join(c for c in text_of(numbers, numbers.randint(0, 12)) if c >= "\x20" or c == "\n")
            messages = [{"role": "system", "content": content()}] if numbers.random() < 0.5 else []
            for _ in range(numbers.randint(1, 2)):
                messages += [{"role": "user", "content": content()}, {"role": "assistant", "content": content()}]
            marked = TEMPLATES["trimmed" if template == "unmarked" else template]
            encoded = python.apply_chat_template(
                messages, chat_template=marked, return_dict=True, return_assistant_tokens_mask=True
            )
            chats.append(
                {
                    "template": template,
                    "messages": messages,
                    "text": python.apply_chat_template(
                        messages, chat_template=TEMPLATES[template], tokenize=False, add_generation_prompt=True
                    ),
                    "ids": encoded["input_ids"],
                    "mask": "".join(map(str, encoded["assistant_masks"])),
                }
            )
    expected = {
        "templates": TEMPLATES,
        "texts": [
            {
                "text": text,
                "ids": (ids := python.encode(text)),
                "decoded": python.decode(ids),
                "skipped": python.decode(ids, skip_special_tokens=True),
            }
            for text in texts
        ],
        "chats": chats,
    }
    (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")))
