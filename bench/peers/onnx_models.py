"""Exports small models with random weights by torch.onnx.export, with what PyTorch makes of them.

  pip install torch==2.15.0 torchvision==0.29.2 transformers==5.23.0 onnx==1.23.2 onnxscript==0.7.2 safetensors==0.8.0
  python onnx_models.py FOLDER [name …]

For each model: NAME.onnx, NAME.safetensors (inputs, labels and the output in evaluation mode) and NAME.json (the losses
of `STEPS` steps of SGD in training mode, of the same batch, and how the loss is made: the cross entropy of `logits`, plus
`penalty` where the model gives one).
"""
import json
import sys
import time
from pathlib import Path

import onnx
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

STEPS = 5
BATCH = 4


class Logits(nn.Module):
    """A model of transformers that gives its logits alone."""

    def __init__(self, model, names):
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *inputs):
        return self.model(**dict(zip(self.names, inputs))).logits


class UNet(nn.Module):
    """Ronneberger et al. 2015, two levels, with batch normalization."""

    def __init__(self, width=8, classes=3):
        super().__init__()

        def block(ins, outs):
            layers = []
            for size in (ins, outs):
                layers += [nn.Conv2d(size, outs, 3, padding=1, bias=False), nn.BatchNorm2d(outs), nn.ReLU()]
            return nn.Sequential(*layers)

        self.down1, self.down2, self.middle = block(3, width), block(width, 2 * width), block(2 * width, 4 * width)
        self.pool = nn.MaxPool2d(2)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.merge2 = block(4 * width, 2 * width)
        self.up1 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.merge1 = block(3 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        c = self.middle(self.pool(b))
        b = self.merge2(torch.cat([self.up2(c), b], 1))
        return self.head(self.merge1(torch.cat([self.up1(b), a], 1)))


class EncoderDecoder(nn.Module):
    """nn.Transformer over two token sequences, with learned positions and a causal mask."""

    def __init__(self, words=50, width=32, length=12):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.positions = nn.Parameter(torch.randn(length, width) * 0.1)
        self.transformer = nn.Transformer(width, 4, 2, 2, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        embed = lambda tokens: self.words(tokens) + self.positions[: tokens.shape[1]]
        return self.head(self.transformer(embed(source), embed(target), tgt_mask=mask, tgt_is_causal=True))


class Lstm(nn.Module):
    def __init__(self, words=50, width=32):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, words)

    def forward(self, tokens):
        return self.head(self.lstm(self.words(tokens))[0])


class GroupNormUNet(nn.Module):
    """A U-Net with group normalization and SiLU, as diffusion models have it, one level, with a residual block."""

    def __init__(self, width=8, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.down = self.block(width, 2 * width)
        self.shrink = nn.Conv2d(2 * width, 2 * width, 3, stride=2, padding=1)
        self.middle = self.block(2 * width, 2 * width)
        self.up = nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.merge = self.block(4 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def block(self, ins, outs):
        return nn.Sequential(nn.GroupNorm(4, ins), nn.SiLU(), nn.Conv2d(ins, outs, 3, padding=1),
                             nn.GroupNorm(4, outs), nn.SiLU(), nn.Conv2d(outs, outs, 3, padding=1))

    def forward(self, x):
        a = self.down(self.stem(x))
        b = self.shrink(a)
        b = b + self.middle(b)
        b = self.up(F.interpolate(b, scale_factor=2, mode="nearest"))
        return self.head(self.merge(torch.cat([b, a], 1)))


class Clip(nn.Module):
    """A picture's similarity to each of its captions, scaled by a trained temperature (Radford et al. 2021)."""

    def __init__(self, words=50, width=32):
        super().__init__()
        self.picture = nn.Sequential(nn.Conv2d(3, 16, 4, stride=4), nn.ReLU6(), nn.Conv2d(16, 32, 2, stride=2),
                                     nn.Hardtanh(), nn.Flatten(), nn.Linear(32 * 4, width))
        self.words = nn.Embedding(words, width)
        self.caption = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
        self.scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, x, captions):
        picture = F.normalize(self.picture(x), dim=-1)
        caption = self.caption(self.words(captions)).mean(2)
        similarity = F.cosine_similarity(picture.unsqueeze(1), caption, dim=-1)
        return similarity * self.scale.exp().clamp(max=100.0)


class Vae(nn.Module):
    """A variational autoencoder of pictures of eight gray levels, with PReLU; its noise is an input."""

    def __init__(self, width=8, latent=6, levels=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, width, 3, stride=2, padding=1), nn.PReLU(width),
                                     nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.PReLU(), nn.Flatten())
        self.mean = nn.Linear(2 * width * 16, latent)
        self.log_variance = nn.Linear(2 * width * 16, latent)
        self.expand = nn.Linear(latent, 2 * width * 16)
        self.decoder = nn.Sequential(nn.PReLU(2 * width), nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1),
                                     nn.PReLU(width), nn.ConvTranspose2d(width, levels, 4, stride=2, padding=1))

    def forward(self, x, noise):
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden).clamp(-8, 8)
        code = mean + (0.5 * log_variance).exp() * noise
        logits = self.decoder(self.expand(code).unflatten(1, (-1, 4, 4)))
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).mean(1)
        return logits, 0.1 * divergence


def pictures(size):
    return {"x": torch.randn(BATCH, 3, size, size)}


def tokens(*names, length=12, words=50):
    return {name: torch.randint(0, words, (BATCH, length)) for name in names}


def resnet18():
    from torchvision.models import resnet18

    return resnet18(num_classes=10), pictures(64), 1, 0.001


def mobilenet_v3_small():
    from torchvision.models import mobilenet_v3_small

    return mobilenet_v3_small(num_classes=10, dropout=0.0), pictures(64), 1, 0.01


def vit():
    from torchvision.models import VisionTransformer

    model = VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10)
    nn.init.normal_(model.heads.head.weight, std=0.2)
    return model, pictures(40), 1, 0.001


def unet():
    return UNet(), pictures(32), 1, 0.1


def bert():
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, max_position_embeddings=32,
                        num_labels=5, initializer_range=0.2)
    inputs = {**tokens("input_ids"), "attention_mask": torch.ones(BATCH, 12, dtype=torch.int64)}
    inputs["attention_mask"][1, 7:] = 0
    return Logits(BertForSequenceClassification(config), list(inputs)), inputs, 1, 0.02


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0,
                        attn_pdrop=0.0, initializer_range=0.2, use_cache=False)
    return Logits(GPT2LMHeadModel(config), ["input_ids"]), tokens("input_ids"), -1, 0.05


def encoder_decoder():
    return EncoderDecoder(), tokens("source", "target"), -1, 0.1


def lstm():
    return Lstm(), tokens("tokens"), -1, 0.5


def mobilenet_v2():
    from torchvision.models import mobilenet_v2

    blocks = [[1, 8, 1, 1], [6, 12, 2, 2], [6, 16, 2, 2], [6, 24, 1, 1]]
    model = mobilenet_v2(num_classes=10, dropout=0.0, round_nearest=4, width_mult=0.5, inverted_residual_setting=blocks)
    return model, pictures(40), 1, 0.001


def unet_groupnorm():
    return GroupNormUNet(), pictures(16), 1, 0.5


def clip():
    return Clip(), {**pictures(16), "captions": torch.randint(0, 50, (BATCH, 5, 7))}, 1, 0.1


def deberta_v2():
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

    config = DebertaV2Config(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                             intermediate_size=64, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                             pooler_dropout=0.0, max_position_embeddings=32, num_labels=5, initializer_range=0.2,
                             relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8,
                             norm_rel_ebd="layer_norm", share_att_key=True)
    inputs = {**tokens("input_ids"), "attention_mask": torch.ones(BATCH, 12, dtype=torch.int64)}
    inputs["attention_mask"][1, 7:] = 0
    return Logits(DebertaV2ForSequenceClassification(config), list(inputs)), inputs, 1, 0.02


def vae_prelu():
    return Vae(), {"x": torch.rand(BATCH, 1, 16, 16), "noise": torch.randn(BATCH, 6)}, 1, 4.0


MODELS = [resnet18, mobilenet_v3_small, bert, gpt2, vit, lstm, unet, encoder_decoder, mobilenet_v2, unet_groupnorm,
          clip, deberta_v2, vae_prelu]


def loss_of(outputs, labels, axis):
    logits, *penalties = outputs if isinstance(outputs, tuple) else (outputs,)
    classes = logits if axis == 1 else logits.flatten(0, -2)
    loss = F.cross_entropy(classes, labels if axis == 1 else labels.flatten())
    return loss + sum(penalty.mean() for penalty in penalties)


def without_traces(model):
    """Without lines of source and paths of the machine: of the exporter's notes only the names of the modules stay."""
    graph = model.graph
    for part in [model, graph, *graph.node, *graph.initializer, *graph.value_info, *graph.input, *graph.output]:
        kept = [(note.key, note.value) for note in part.metadata_props if note.key == "pkg.torch.onnx.name_scopes"]
        del part.metadata_props[:]
        for key, value in kept:
            part.metadata_props.add(key=key, value=value)
    return model


def export(folder, make):
    name = make.__name__
    torch.manual_seed(7)
    model, inputs, axis, rate = make()
    values = tuple(inputs.values())
    # Running statistics of the data, so that the output depends on them; those of a new layer may make it vanish.
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    with torch.no_grad():
        for norm in norms:
            norm.momentum = 0.5
            # A channel without variance is 0 in a fresh model, just where ReLU has its bend: rounding then decides its
            # gradient, and PyTorch's own losses in float32 and float64 part within five steps.
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.normal_(norm.bias, std=0.5)
        for _ in range(20 if norms else 0):
            model(*values)
    for norm, momentum in zip(norms, momenta):
        norm.momentum = momentum
    model.eval()
    with torch.no_grad():
        outputs = model(*values)
    output = outputs[0] if isinstance(outputs, tuple) else outputs
    names = ["logits", "penalty"] if isinstance(outputs, tuple) else ["logits"]
    labels_shape = output.shape[:1] + output.shape[2:] if axis == 1 else output.shape[:-1]
    labels = torch.randint(0, output.shape[axis], labels_shape)
    path = folder / f"{name}.onnx"
    began = time.time()
    batch = torch.export.Dim("batch", min=1, max=512)
    # Unoptimized: the optimizer folds normalizations and embeddings, and lets all weights of equal values share one
    # tensor, which ties what is not tied.
    open_sizes = tuple({0: batch} for _ in values)
    torch.onnx.export(
        model, values, path, input_names=list(inputs), output_names=names, dynamo=True, external_data=False,
        dynamic_shapes=(open_sizes,) if isinstance(model, Logits) else open_sizes, optimize=False,
        verbose=False,
    )
    seconds = time.time() - began
    save_file({**{f"input/{key}": value.contiguous() for key, value in inputs.items()}, "labels": labels,
               "output/logits": output.contiguous()}, folder / f"{name}.safetensors")
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    losses = []
    for step in range(STEPS + 1):
        optimizer.zero_grad()
        loss = loss_of(model(*values), labels, axis)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    written = without_traces(onnx.load(path, load_external_data=False))
    onnx.save(written, path)
    nodes = len(written.graph.node)
    told = {"nodes": nodes, "losses": losses, "classAxis": axis, "learningRate": rate, "torch": torch.__version__,
            "parameters": sum(p.numel() for p in model.parameters())}
    (folder / f"{name}.json").write_text(json.dumps(told))
    print(f"{name}: {path.stat().st_size} bytes, {seconds:.1f} s, losses {losses}", flush=True)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for make in MODELS:
        if len(sys.argv) == 2 or make.__name__ in sys.argv[2:]:
            export(folder, make)
