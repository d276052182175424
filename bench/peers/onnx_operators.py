"""Exports 64 operators of PyTorch, each as a small module behind a trained layer, with what PyTorch makes of them.

  pip install torch==2.15.0 onnx==1.23.2 onnxscript==0.7.2 safetensors==0.8.0
  python onnx_operators.py FILE.safetensors

For each operator: NAME/model (the ONNX file's bytes), NAME/input, NAME/target and NAME/output (in evaluation mode); the
metadata hold NAME: the losses of `STEPS` steps of SGD in training mode (mean squares of output minus target) and the rate.
"""
import io
import json
import sys

import onnx
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

from onnx_models import without_traces

STEPS = 3
BATCH = 3
RATE = 0.05


class Op(nn.Module):
    """A trained layer, then the operator: `dense` is of the last axis, `conv` of the channels."""

    def __init__(self, layer, op, *modules):
        super().__init__()
        self.layer = layer
        self.op = op
        self.modules_of_op = nn.ModuleList(modules)

    def forward(self, x):
        return self.op(self.layer(x), *self.modules_of_op)


def dense(op, *modules, width=6, shape=(5,), ins=4):
    return lambda: (Op(nn.Linear(ins, width), op, *modules), torch.randn(BATCH, *shape, ins))


def conv(op, *modules, channels=4, size=7, axes=2):
    layer = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[axes](2, channels, 1)
    return lambda: (Op(layer, op, *modules), torch.randn(BATCH, 2, *[size] * axes))


def apply(x, module):
    return module(x)


def grid(x):
    axis = torch.linspace(-0.9, 0.8, 5)
    y, z = torch.meshgrid(axis, axis, indexing="ij")
    places = torch.stack([z, y], -1).unsqueeze(0).expand(x.shape[0], -1, -1, -1)
    return F.grid_sample(x, places, align_corners=False)


def targets(x):
    """Numbers for losses, as many as there are rows."""
    return torch.zeros_like(x) + torch.linspace(0.1, 0.9, x.shape[-1])


def classes(x):
    return torch.zeros_like(x[..., 0]).to(torch.int64) + torch.arange(x.shape[1])


torch.manual_seed(11)
OPERATORS = {
    # Activations and clamps.
    "relu6": dense(F.relu6),
    "hardtanh": dense(lambda x: F.hardtanh(x, -0.5, 0.7)),
    "clamp": dense(lambda x: x.clamp(-0.4, 0.6)),
    "clamp_min": dense(lambda x: x.clamp(min=-0.2)),
    "leaky_relu": dense(lambda x: F.leaky_relu(x, 0.2)),
    "elu": dense(lambda x: F.elu(x, 0.7)),
    "selu": dense(F.selu),
    "celu": dense(lambda x: F.celu(x, 1.3)),
    "gelu": dense(F.gelu),
    "gelu_tanh": dense(lambda x: F.gelu(x, approximate="tanh")),
    "silu": dense(F.silu),
    "mish": dense(F.mish),
    "softplus": dense(F.softplus),
    "softsign": dense(F.softsign),
    "hardswish": dense(F.hardswish),
    "hardsigmoid": dense(F.hardsigmoid),
    "logsigmoid": dense(F.logsigmoid),
    "tanhshrink": dense(F.tanhshrink),
    "hardshrink": dense(lambda x: F.hardshrink(x, 0.3)),
    "softshrink": dense(lambda x: F.softshrink(x, 0.3)),
    "threshold": dense(lambda x: F.threshold(x, 0.1, -0.5)),
    "prelu": conv(apply, nn.PReLU(4)),
    "glu": dense(F.glu),
    "softmax": dense(lambda x: F.softmax(x, 1)),
    "log_softmax": dense(lambda x: F.log_softmax(x, -1)),
    # Normalizations.
    "layer_norm": dense(apply, nn.LayerNorm(6)),
    "group_norm": conv(apply, nn.GroupNorm(2, 4)),
    "instance_norm": conv(apply, nn.InstanceNorm2d(4, affine=True)),
    "batch_norm": conv(apply, nn.BatchNorm2d(4)),
    "rms_norm": dense(apply, nn.RMSNorm(6)),
    "local_response_norm": conv(lambda x: F.local_response_norm(x, 3)),
    "normalize": dense(lambda x: F.normalize(x, dim=-1)),
    "weight_norm": dense(apply, nn.utils.parametrizations.weight_norm(nn.Linear(6, 3))),
    # Pools.
    "max_pool1d": conv(lambda x: F.max_pool1d(x, 3, 2, 1), axes=1),
    "max_pool2d_ceil": conv(lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True)),
    "avg_pool2d": conv(lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)),
    "adaptive_avg_pool2d": conv(lambda x: F.adaptive_avg_pool2d(x, 2), size=6),
    "adaptive_max_pool2d": conv(lambda x: F.adaptive_max_pool2d(x, 1)),
    "lp_pool2d": conv(lambda x: F.lp_pool2d(x, 2, 2)),
    # Convolutions.
    "conv1d": conv(apply, nn.Conv1d(4, 3, 3, padding="same"), axes=1),
    "conv2d": conv(apply, nn.Conv2d(4, 3, 3, stride=2, padding=2, dilation=2)),
    "conv2d_depthwise": conv(apply, nn.Conv2d(4, 8, 3, padding=1, groups=4)),
    "conv_transpose2d": conv(apply, nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1)),
    "conv3d": conv(apply, nn.Conv3d(4, 2, 2), axes=3, size=4),
    # Losses and distances.
    "mse_loss": dense(lambda x: F.mse_loss(x, targets(x), reduction="none")),
    "smooth_l1_loss": dense(lambda x: F.smooth_l1_loss(x, targets(x), reduction="none")),
    "huber_loss": dense(lambda x: F.huber_loss(x, targets(x), delta=0.4, reduction="none")),
    "cross_entropy": dense(lambda x: F.cross_entropy(x.transpose(1, 2), classes(x), reduction="none")),
    "bce_with_logits": dense(lambda x: F.binary_cross_entropy_with_logits(x, targets(x), reduction="none")),
    "kl_div": dense(lambda x: F.kl_div(F.log_softmax(x, -1), targets(x), reduction="none")),
    "cosine_similarity": dense(lambda x: F.cosine_similarity(x, targets(x), dim=-1)),
    "pairwise_distance": dense(lambda x: F.pairwise_distance(x[:, 0], x[:, 1])),
    # Sums, products, pictures, indexing.
    "cumsum": dense(lambda x: x.cumsum(1)),
    # cumprod is not exported by PyTorch 2.15, neither by dynamo nor by torchscript.
    "prod": dense(lambda x: x.sigmoid().prod(1)),
    "logsumexp": dense(lambda x: x.logsumexp(-1)),
    "std": dense(lambda x: x.std(-1)),
    "einsum": dense(lambda x: torch.einsum("bij,bkj->bik", x, x)),
    "attention": dense(lambda x: F.scaled_dot_product_attention(*[x.unsqueeze(1)] * 3, is_causal=True)),
    "grid_sample": conv(grid),
    "interpolate_bilinear": conv(lambda x: F.interpolate(x, size=(11, 9), mode="bilinear", align_corners=False)),
    "pixel_shuffle": conv(lambda x: F.pixel_shuffle(x, 2)),
    "pad_reflect": conv(lambda x: F.pad(x, (2, 1, 0, 3), mode="reflect")),
    "roll": dense(lambda x: x.roll(2, 1)),
    "topk": dense(lambda x: x.topk(3, -1).values),
}


def export(name, make):
    torch.manual_seed(len(name))
    module, x = make()
    module.eval()
    with torch.no_grad():
        output = module(x)
    target = torch.randn_like(output)
    file = io.BytesIO()
    sizes = ({0: torch.export.Dim("batch", min=1, max=512)},)
    torch.onnx.export(module, (x,), input_names=["x"], output_names=["y"], dynamo=True, external_data=False,
                      dynamic_shapes=sizes, optimize=False, verbose=False).save(file)
    written = without_traces(onnx.load_from_string(file.getvalue())).SerializeToString()
    module.train()
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    losses = []
    for _ in range(STEPS + 1):
        optimizer.zero_grad()
        loss = (module(x) - target).square().mean()
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    tensors = {"model": torch.frombuffer(bytearray(written), dtype=torch.uint8), "input": x, "target": target,
               "output": output}
    return {f"{name}/{key}": value.contiguous() for key, value in tensors.items()}, losses


if __name__ == "__main__":
    torch.set_num_threads(1)
    tensors, told = {}, {}
    for name, make in OPERATORS.items():
        found, losses = export(name, make)
        tensors.update(found)
        told[name] = json.dumps({"losses": losses, "learningRate": RATE})
        print(name, losses, flush=True)
    save_file(tensors, sys.argv[1], told)
