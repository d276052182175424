"""Writes tiny random language models, and what transformers and peft make of them: logits, greedy tokens, the losses of a LoRA
run in float32 and under autocast in bfloat16, adapters. Needs torch, transformers 5 and peft:

    python fine_tuning.py ../../packages/language-models/test/fixtures/transformers [name of a model …]

Tokens come out of the integer hash, so that the tests make the same ones without this file. With `check <folder>` it loads
an adapter that was saved from TypeScript and compares its logits with those beside it, `logits.json`.
"""

import base64
import json
import os
import shutil
import sys

import numpy as np
import torch
import transformers
import peft
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config

from peer import tokens

BATCH, TIME, STEPS = 2, 16, 50

MODELS = {
    "llama-grouped": {
        "config": LlamaConfig(
            hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            vocab_size=101, max_position_embeddings=256, rms_norm_eps=1e-5,
            rope_parameters={
                "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
                "high_freq_factor": 4.0, "original_max_position_embeddings": 128,
            },
        ),
        "dtype": torch.float32,
        "lora": {"r": 4, "lora_alpha": 8, "target_modules": "all-linear"},
    },
    "llama-tied": {
        "config": LlamaConfig(
            hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4, head_dim=12,
            vocab_size=97, max_position_embeddings=256, tie_word_embeddings=True, attention_bias=True, mlp_bias=True,
            rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0},
        ),
        "dtype": torch.bfloat16,
        "shards": "40KB",
        "lora": {"r": 2, "lora_alpha": 6, "target_modules": ["q_proj", "v_proj", "down_proj"], "use_rslora": True},
    },
    "qwen2": {
        "config": Qwen2Config(
            hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            vocab_size=97, max_position_embeddings=256, tie_word_embeddings=True,
            rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
        ),
        "dtype": torch.bfloat16,
        "lora": {"r": 2, "lora_alpha": 4},
    },
    "qwen3": {
        "config": Qwen3Config(
            hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            head_dim=16, vocab_size=97, max_position_embeddings=256,
            rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
        ),
        "dtype": torch.bfloat16,
        "lora": {"r": 2, "lora_alpha": 4, "target_modules": "all-linear"},
    },
    "mistral": {
        "config": MistralConfig(
            hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            head_dim=6, vocab_size=97, max_position_embeddings=256, sliding_window=5,
            rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
        ),
        "dtype": torch.bfloat16,
        "lora": {"r": 2, "lora_alpha": 4},
    },
    # Without dropout, and with another scale of the scores in each layer.
    "gpt2": {
        "config": GPT2Config(
            n_embd=32, n_layer=2, n_head=4, n_positions=128, vocab_size=97, resid_pdrop=0.0, embd_pdrop=0.0,
            attn_pdrop=0.0, bos_token_id=0, eos_token_id=0, scale_attn_by_inverse_layer_idx=True,
        ),
        "dtype": torch.bfloat16,
        "lora": {"r": 2, "lora_alpha": 4, "target_modules": ["c_attn", "mlp.c_proj"]},
    },
}


def packed(tensor):
    return base64.b64encode(tensor.detach().float().contiguous().numpy().tobytes()).decode()


def randomized(model, seed):
    """Weights large enough for logits that differ, norms and biases that are not their start."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if weight.ndim == 2:
                # The inputs of GPT-2's layers come first.
                inputs = weight.shape[0 if ".h." in name else 1]
                weight.copy_(noise * (0.3 if "embed" in name or ".wte" in name or ".wpe" in name else 1.2 / inputs**0.5))
            else:
                is_scale = "norm" in name or (".ln_" in name and name.endswith("weight"))
                weight.copy_(1 + 0.2 * noise if is_scale else 0.2 * noise)


def batch(step, vocabulary):
    """Tokens, and labels that leave the first third of each row out."""
    ids = torch.from_numpy(tokens(step + 1, (BATCH, TIME), vocabulary)).long()
    labels = ids.clone()
    labels[:, : TIME // 3] = -100
    return ids, labels


def run(model, vocabulary, steps, autocast):
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-3)
    losses = []
    model.train()
    for step in range(steps):
        ids, labels = batch(step, vocabulary)
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def write(name, target):
    folder = os.path.join(target, name)
    shutil.rmtree(folder, ignore_errors=True)
    options = MODELS[name]
    config = options["config"]
    model = AutoModelForCausalLM.from_config(config).eval()
    randomized(model, 1)
    model = model.to(options["dtype"])
    model.save_pretrained(folder, max_shard_size=options.get("shards", "5GB"))
    os.remove(os.path.join(folder, "generation_config.json"))
    load = lambda: AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    model = load()
    ids, _ = batch(-1, config.vocab_size)
    with torch.no_grad():
        logits = model(ids).logits
        greedy = model.generate(
            ids[:1, :4], attention_mask=torch.ones(1, 4), do_sample=False, max_new_tokens=100, eos_token_id=None,
            pad_token_id=0,
        )
    expected = {
        "versions": {each.__name__: each.__version__ for each in (torch, transformers, peft)},
        "logits": packed(logits),
        "greedy": greedy[0].tolist(),
        "losses": {},
    }
    for precision in ("float32", "mixed_bfloat16"):
        torch.manual_seed(2)
        tuned = get_peft_model(load(), LoraConfig(task_type="CAUSAL_LM", **options["lora"]))
        if precision == "float32":
            save(tuned, os.path.join(folder, "start"))
        expected["losses"][precision] = run(tuned, config.vocab_size, STEPS, precision != "float32")
        if precision == "float32":
            save(tuned, os.path.join(folder, "trained"))
            with torch.no_grad():
                expected["tuned"] = packed(tuned.eval()(ids).logits)
    with open(os.path.join(folder, "expected.json"), "w", encoding="ascii") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")


def save(model, folder):
    model.save_pretrained(folder)
    os.remove(os.path.join(folder, "README.md"))


def check(base, adapter):
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), adapter).eval()
    ids, _ = batch(-1, model.config.vocab_size)
    with torch.no_grad():
        logits = model(ids).logits.numpy()
    with open(os.path.join(adapter, "logits.json"), encoding="ascii") as file:
        ours = np.frombuffer(base64.b64decode(json.load(file)), np.float32).reshape(logits.shape)
    print("largest difference of a logit", float(np.abs(logits - ours).max()))


if __name__ == "__main__":
    if sys.argv[1] == "check":
        check(*sys.argv[2:])
    else:
        for each in sys.argv[2:] or MODELS:
            write(each, sys.argv[1])
