"""The recipe in PyTorch. Prints the loss of each step as JSON: python recipe.py > test/fixtures/curve.json"""

import json, math, os, tempfile

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

def wave(step, weight, inputs):  # there they are [in, out]
    flat = [math.sin(step * (i + 1)) / math.sqrt(inputs) for i in range(weight.numel())]
    shape = list(weight.shape)[::-1]
    weight.data = torch.tensor(flat, dtype=torch.float32).reshape(shape).t().contiguous()

def model():
    stem, body, head = nn.Linear(2, 16), nn.Linear(16, 32), nn.Linear(32, 2)
    for step, weight, inputs in [(1, stem.weight, 2), (2, stem.bias, 2), (3, body.weight, 16), (4, head.weight, 32)]:
        wave(step, weight, inputs)
    body.bias.data.zero_(), head.bias.data.zero_()
    stem.requires_grad_(False)
    return nn.Sequential(stem, nn.ReLU(), body, nn.LayerNorm(32), nn.ReLU(), head)

def points(step):
    places = [(math.sin(7919 * (64 * step + i)), math.cos(104729 * i)) for i in range(64)]
    return torch.tensor(places, dtype=torch.float32), torch.tensor([int(a * b > 0) for a, b in places])

def groups(module, rate):  # AdamW without decay on biases and norms
    trained = [p for p in module.parameters() if p.requires_grad]
    flat, rest = [p for p in trained if p.ndim < 2], [p for p in trained if p.ndim >= 2]
    return [{"params": flat, "lr": rate, "weight_decay": 0.0}, {"params": rest, "lr": rate, "weight_decay": 0.1}]

path = os.path.join(tempfile.gettempdir(), f"recipe-{os.getpid()}.pt")
losses = []
for end in (100, 200):
    net = model()
    optimizer = torch.optim.AdamW(groups(net[:5], 2e-4) + groups(net[5], 2e-3))
    scaler = torch.amp.GradScaler("cpu")
    average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.99))
    parts = {"net": net, "optimizer": optimizer, "scaler": scaler, "average": average}
    if losses:
        for name, state in torch.load(path).items():
            parts[name].load_state_dict(state)
    while len(losses) < end:
        optimizer.zero_grad()
        total = 0.0
        for x, y in (points(2 * len(losses)), points(2 * len(losses) + 1)):
            with torch.autocast("cpu", dtype=torch.float16):
                loss = nn.functional.cross_entropy(net(x), y)
            scaler.scale(loss / 2).backward()
            total += loss.item() / 2
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_([p for p in net.parameters() if p.requires_grad], 1.0)
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= before:  # a skipped step is not averaged
            average.update_parameters(net)
        losses.append(total)
    torch.save({name: part.state_dict() for name, part in parts.items()}, path)

x, y = points(1000)
with torch.no_grad():
    averaged = nn.functional.cross_entropy(average(x), y).item()
print(json.dumps({"torch": torch.__version__, "losses": losses, "averaged": averaged}))
