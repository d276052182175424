"""Times a LoRA step of peft on the model of src/lora-step.ts: a Llama of 31 M parameters in bfloat16.

usage: lora_step.py [autocast|plain] [rounds]
"""

import os
import statistics
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

mode = sys.argv[1] if len(sys.argv) > 1 else "autocast"
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
torch.manual_seed(0)
model = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=8192,
        hidden_size=384,
        intermediate_size=1536,
        num_hidden_layers=12,
        num_attention_heads=6,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        use_cache=False,
    )
).to(torch.bfloat16)
tuned = get_peft_model(model, LoraConfig(r=8, lora_alpha=8, target_modules=["q_proj", "v_proj"]))
optimizer = torch.optim.AdamW([p for p in tuned.parameters() if p.requires_grad], lr=1e-3)
ids = (torch.arange(4 * 256) * 37 % 8192).reshape(4, 256)


def step():
    start = time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16, enabled=mode == "autocast"):
        loss = tuned(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    value = loss.item()
    return (time.perf_counter() - start) * 1000, value


tuned.train()
losses = [step()[1] for _ in range(3)]
times = [step()[0] for _ in range(rounds)]
print(f"peft {mode}: {statistics.median(times):.1f} ms, losses {losses}")
