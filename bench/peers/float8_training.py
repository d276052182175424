"""Writes float8-training.json: weights, data and 50 losses of a small network whose products read float8 operands, by
nanochat's formula (fp8.py at 03880dbc; on a processor, so that its product is one in float32 of the numbers that the codes
stand for) and by torchao's recipes `tensorwise` and `rowwise` with `emulate`. Needs torch 2.15 and torchao 0.18:

    python float8_training.py > ../../packages/core/test/fixtures/float8-training.json
"""

import base64
import dataclasses
import json

import numpy as np
import torch
import torchao
from torchao.float8 import Float8LinearConfig, convert_to_float8_training

from peer import uniform

SIZES = (32, 64, 64, 16)
BATCHES, ROWS, STEPS, RATE = 8, 32, 50, 0.02
WEIGHTS = [uniform(seed, (to, of), (6 / of) ** 0.5) for seed, (of, to) in enumerate(zip(SIZES, SIZES[1:]), 1)]
X = uniform(10, (BATCHES, ROWS, SIZES[0]), 1)
Y = np.sin(X @ uniform(11, (SIZES[0], SIZES[-1]), 1)).astype(np.float32)


def rounded(x, kind):
    most = torch.finfo(kind).max
    scale = (most / x.abs().max().double().clamp(min=1e-12)).float()
    return (x * scale).clamp(-most, most).to(kind).float() * scale.reciprocal()


class Float8Product(torch.autograd.Function):
    @staticmethod
    def forward(context, x, weight):
        x, weight = rounded(x, torch.float8_e4m3fn), rounded(weight, torch.float8_e4m3fn)
        context.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(context, gradient):
        x, weight = context.saved_tensors
        gradient = rounded(gradient, torch.float8_e5m2)
        return gradient @ weight, gradient.t() @ x


class Nanochat(torch.nn.Linear):
    def forward(self, x):
        return Float8Product.apply(x, self.weight)


def network(layer=torch.nn.Linear):
    layers = [layer(of, to, bias=False) for of, to in zip(SIZES, SIZES[1:])]
    for each, weight in zip(layers, WEIGHTS):
        each.weight.data = torch.from_numpy(weight.copy())
    return torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])


def torchao_network(recipe):
    config = dataclasses.replace(Float8LinearConfig.from_recipe_name(recipe), emulate=True)
    return convert_to_float8_training(network(), config=config)


def losses(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    found = []
    for step in range(STEPS):
        x, y = (torch.from_numpy(each[step % BATCHES]) for each in (X, Y))
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def packed(array):
    return {"shape": array.shape, "base64": base64.b64encode(array.tobytes()).decode()}


if __name__ == "__main__":
    report = {
        "versions": {"torch": torch.__version__, "torchao": torchao.__version__},
        "rate": RATE,
        "weights": [packed(weight) for weight in WEIGHTS],
        "batches": [{"x": packed(x), "y": packed(y)} for x, y in zip(X, Y)],
        "losses": {
            "float32": losses(network()),
            "nanochat": losses(network(Nanochat)),
            "torchao tensorwise": losses(torchao_network("tensorwise")),
            "torchao rowwise": losses(torchao_network("rowwise")),
        },
    }
    print(json.dumps(report, indent=2))
