"""A training step of each workload in PyTorch: the peer that ours are run beside.

float32 (on CUDA without TF32), or autocast to bfloat16, on CUDA to float16 too, with float32 weights; as it is, or
through `torch.compile` where the job says so. CUDA has not been run yet.
"""

import math
import sys

from peer import InitialValues as HashValues
from peer import refuse, run
from peer import tokens as hash_tokens
from peer import uniform as hash_uniform

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as error:
    message = f"{sys.executable} has no torch ({error}); install it there: {sys.executable} -m pip install torch, "
    refuse(message + "or name an interpreter that has it with --python or PEER_PYTHON")


def on_device(array):
    return torch.from_numpy(array).to(torch.get_default_device())


def uniform(seed, shape, limit):
    return on_device(hash_uniform(seed, shape, limit))


def tokens(seed, shape, vocabulary):
    return on_device(hash_tokens(seed, shape, vocabulary)).long()


class InitialValues(HashValues):
    def uniform(self, shape, limit):
        return on_device(super().uniform(shape, limit))

    def linear(self, inputs, outputs, limit):
        """A layer whose bias starts at 0; kernels are drawn as [inputs, outputs]."""
        layer = nn.Linear(inputs, outputs)
        layer.weight.data = self.uniform((inputs, outputs), limit).T.contiguous()
        nn.init.zeros_(layer.bias)
        self.skip()
        return layer


def mlp(sizes):
    batch, size, layers = sizes["batch"], sizes["size"], sizes["layers"]
    draw = InitialValues()
    parts = []
    for index in range(layers):
        parts += [draw.linear(size, size, math.sqrt(6 / size)), nn.ReLU()]
    model = nn.Sequential(*parts[:-1])
    x, y = (uniform(seed, (batch, size), math.sqrt(3)) for seed in (1, 2))
    optimizer = torch.optim.SGD(model.parameters(), 1.0)
    return model, optimizer, x, lambda output: F.mse_loss(output.float(), y), {}


class WordModel(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        vocabulary, cells, layers = sizes["vocabulary"], sizes["cells"], sizes["layers"]
        draw = InitialValues()
        self.embedding = nn.Embedding(vocabulary, cells)
        self.embedding.weight.data = draw.uniform((vocabulary, cells), 0.05)
        self.lstm = nn.LSTM(cells, cells, layers, batch_first=True)
        for layer in range(layers):
            for name in ("ih", "hh"):
                kernel = draw.uniform((cells, 4 * cells), 0.05).T
                getattr(self.lstm, f"weight_{name}_l{layer}").data.copy_(kernel)
                nn.init.zeros_(getattr(self.lstm, f"bias_{name}_l{layer}"))
            draw.skip()
            # This module always has two biases; one held at 0 makes the model everyone else's.
            getattr(self.lstm, f"bias_hh_l{layer}").requires_grad_(False)
        self.output = draw.linear(cells, vocabulary, 0.05)

    def forward(self, words):
        return self.output(self.lstm(self.embedding(words))[0])


def word_model(sizes):
    shape, vocabulary = (sizes["batch"], sizes["time"]), sizes["vocabulary"]
    model = WordModel(sizes)
    inputs, targets = (tokens(seed, shape, vocabulary) for seed in (1, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, 0.9)

    def loss_of(output):
        return F.cross_entropy(output.flatten(0, 1).float(), targets.flatten()) * sizes["time"]

    return model, optimizer, inputs, loss_of, {"clip": 5.0, "divisor": sizes["time"]}


class ConvolutionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.draw = InitialValues()

    def unit(self, kernel, inputs, outputs, stride=1):
        convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        values = self.draw.uniform((kernel, kernel, inputs, outputs), math.sqrt(6 / (kernel * kernel * inputs)))
        convolution.weight.data = values.permute(3, 2, 0, 1).contiguous()
        self.draw.skip(2)
        return nn.Sequential(convolution, nn.BatchNorm2d(outputs, 1e-5, 0.1))


class ResidualNet(ConvolutionNet):
    """ResNet-20 for small images; strided blocks have a convolution of one by one beside them."""

    def __init__(self, sizes):
        super().__init__()
        widths = sizes["widths"]
        self.stem = self.unit(3, 3, widths[0])
        self.blocks = nn.ModuleList()
        before = widths[0]
        for stage, width in enumerate(widths):
            for index in range(sizes["blocks"]):
                stride = 2 if stage > 0 and index == 0 else 1
                parts = {"first": self.unit(3, before, width, stride), "second": self.unit(3, width, width)}
                if before != width:
                    parts["beside"] = self.unit(1, before, width, stride)
                self.blocks.append(nn.ModuleDict(parts))
                before = width
        self.output = self.draw.linear(before, sizes["classes"], math.sqrt(6 / (before + sizes["classes"])))

    def forward(self, x):
        x = F.relu(self.stem(x))
        for block in self.blocks:
            inner = block["second"](F.relu(block["first"](x)))
            x = F.relu(inner + (block["beside"](x) if "beside" in block else x))
        return self.output(x.mean((2, 3)))


class BottleneckNet(ConvolutionNet):
    """ResNet-50 when its stages have 3, 4, 6 and 3 blocks; the middle convolution of a block has the stride."""

    def __init__(self, sizes):
        super().__init__()
        width = sizes["width"]
        self.stem = self.unit(7, 3, width, 2)
        self.blocks = nn.ModuleList()
        before = width
        for stage, count in enumerate(sizes["blocks"]):
            own = width * 2**stage
            for index in range(count):
                stride = 2 if stage > 0 and index == 0 else 1
                parts = {
                    "first": self.unit(1, before, own),
                    "second": self.unit(3, own, own, stride),
                    "third": self.unit(1, own, 4 * own),
                }
                if index == 0:
                    parts["beside"] = self.unit(1, before, 4 * own, stride)
                self.blocks.append(nn.ModuleDict(parts))
                before = 4 * own
        self.output = self.draw.linear(before, sizes["classes"], math.sqrt(6 / (before + sizes["classes"])))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
        for block in self.blocks:
            inner = block["third"](F.relu(block["second"](F.relu(block["first"](x)))))
            x = F.relu(inner + (block["beside"](x) if "beside" in block else x))
        return self.output(x.mean((2, 3)))


def convolution_net(make, sizes):
    batch, size, classes = sizes["batch"], sizes["size"], sizes["classes"]
    model = make(sizes)
    images = uniform(1, (batch, size, size, 3), math.sqrt(3)).permute(0, 3, 1, 2).contiguous()
    labels = tokens(2, (batch,), classes)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, 0.9)
    return model, optimizer, images, lambda output: F.cross_entropy(output.float(), labels), {}


class EncoderLayer(nn.Module):
    def __init__(self, sizes, draw, limit):
        super().__init__()
        size, hidden = sizes["size"], sizes["hidden"]
        self.heads = sizes["heads"]
        parts = [draw.linear(size, size, limit) for _ in range(3)]
        # One product for the three projections, as one would write it here.
        self.projections = nn.Linear(size, 3 * size)
        self.projections.weight.data = torch.cat([part.weight.data for part in parts])
        nn.init.zeros_(self.projections.bias)
        self.output = draw.linear(size, size, limit)
        self.attention_norm = nn.LayerNorm(size, 1e-5)
        draw.skip(2)
        self.expand = draw.linear(size, hidden, limit)
        self.contract = draw.linear(hidden, size, limit)
        self.norm = nn.LayerNorm(size, 1e-5)
        draw.skip(2)

    def forward(self, x):
        batch, time_steps, size = x.shape
        parts = self.projections(x).view(batch, time_steps, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts).transpose(1, 2).reshape(batch, time_steps, size)
        x = self.attention_norm(x + self.output(mixed))
        return self.norm(x + self.contract(F.gelu(self.expand(x), approximate="tanh")))


class Encoder(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        limit = 0.02 * math.sqrt(3)
        draw = InitialValues()
        self.words = nn.Embedding(sizes["vocabulary"], sizes["size"])
        self.words.weight.data = draw.uniform((sizes["vocabulary"], sizes["size"]), limit)
        self.places = nn.Parameter(draw.uniform((sizes["time"], sizes["size"]), limit))
        self.norm = nn.LayerNorm(sizes["size"], 1e-5)
        draw.skip(2)
        self.layers = nn.Sequential(*(EncoderLayer(sizes, draw, limit) for _ in range(sizes["layers"])))
        self.output = draw.linear(sizes["size"], sizes["vocabulary"], limit)

    def forward(self, words):
        return self.output(self.layers(self.norm(self.words(words) + self.places)))


def encoder(sizes):
    mask_word, mask_every, ignored = 1, 7, -100
    model = Encoder(sizes)
    words = tokens(1, (sizes["batch"], sizes["time"]), sizes["vocabulary"])
    is_hidden = (torch.arange(words.numel()) % mask_every == 0).reshape(words.shape)
    inputs = torch.where(is_hidden, mask_word, words)
    targets = torch.where(is_hidden, words, ignored).flatten()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, weight_decay=0.01)

    def loss_of(output):
        return F.cross_entropy(output.flatten(0, 1).float(), targets, ignore_index=ignored)

    return model, optimizer, inputs, loss_of, {}


WORKLOADS = {
    "w1": mlp,
    "w2": word_model,
    "w3": lambda sizes: convolution_net(ResidualNet, sizes),
    "w4": encoder,
    "w5": lambda sizes: convolution_net(BottleneckNet, sizes),
}


def build(job):
    """The step as a function without arguments that gives the loss."""
    if job["workload"] not in WORKLOADS:
        refuse(f"torch: there is no {job['workload']}, only {', '.join(WORKLOADS)}")
    model, optimizer, inputs, loss_of, options = WORKLOADS[job["workload"]](job["sizes"])
    model.train()
    low = {"mixed_bfloat16": torch.bfloat16, "mixed_float16": torch.float16}.get(job["precision"])
    is_low = low is not None
    scaler = torch.amp.GradScaler(job["device"], enabled=low is torch.float16)
    if is_low and isinstance(model, ConvolutionNet):
        # The layout that it is fastest in; in float32 it is the one it has by itself.
        model = model.to(memory_format=torch.channels_last)
        inputs = inputs.to(memory_format=torch.channels_last)
    forward = torch.compile(model) if job.get("compile") else model
    clip, divisor = options.get("clip"), options.get("divisor", 1)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(job["device"], dtype=low, enabled=is_low):
            output = forward(inputs)
        loss = loss_of(output)
        scaler.scale(loss).backward()
        if clip is not None:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()
        return loss.item() / divisor

    return step


def prepare(job):
    torch.set_num_threads(job["threads"])
    torch.set_default_device(job["device"])
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    return build(job)


run("torch", prepare, {"torch": torch.__version__}, out_of_memory=torch.OutOfMemoryError)
