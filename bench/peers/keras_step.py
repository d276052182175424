"""A training step of each workload in Keras on TensorFlow: a peer that ours are run beside.

float32, or the mixed_bfloat16 policy; one tf.function a step, without XLA.
"""

import math
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

from peer import InitialValues, refuse, run, tokens, uniform

try:
    import keras
    import numpy as np
    import tensorflow as tf
    from keras import layers
except ImportError as error:
    message = f"{sys.executable} has no Keras on TensorFlow ({error}); install it there: {sys.executable} -m pip "
    refuse(message + "install keras tensorflow-cpu, or name an interpreter that has it with --python or PEER_PYTHON")

cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits


class Values(InitialValues):
    """Draws initial values, and remembers which layer gets them."""

    def __init__(self):
        super().__init__()
        self.loads = []

    def load(self, layer, *values):
        self.loads.append((layer, values))
        return layer

    def dense(self, inputs, outputs, limit, activation=None):
        kernel = self.uniform((inputs, outputs), limit)
        return self.load(layers.Dense(outputs, activation), kernel, self.zeros(outputs))

    def norm(self, size):
        return self.load(layers.LayerNormalization(epsilon=1e-5), self.ones(size), self.zeros(size))


def mlp(sizes, values):
    batch, size, count = sizes["batch"], sizes["size"], sizes["layers"]
    output = inputs = keras.Input((size,))
    for index in range(count):
        activation = "relu" if index < count - 1 else None
        output = values.dense(size, size, math.sqrt(6 / size), activation)(output)
    x, y = (uniform(seed, (batch, size), math.sqrt(3)) for seed in (1, 2))
    optimizer = keras.optimizers.SGD(1.0)
    return inputs, output, optimizer, x, lambda result: tf.reduce_mean(tf.math.squared_difference(result, y))


def word_model(sizes, values):
    vocabulary, cells, shape = sizes["vocabulary"], sizes["cells"], (sizes["batch"], sizes["time"])
    inputs = keras.Input((sizes["time"],), dtype="int32")
    embedding = layers.Embedding(vocabulary, cells)
    output = values.load(embedding, values.uniform((vocabulary, cells), 0.05))(inputs)
    for _ in range(sizes["layers"]):
        kernels = [values.uniform((cells, 4 * cells), 0.05) for _ in range(2)]
        layer = layers.LSTM(cells, return_sequences=True, unit_forget_bias=False)
        output = values.load(layer, *kernels, values.zeros(4 * cells))(output)
    output = values.dense(cells, vocabulary, 0.05)(output)
    words, targets = (tokens(seed, shape, vocabulary) for seed in (1, 2))
    optimizer = keras.optimizers.SGD(0.1, 0.9, global_clipnorm=5.0)
    return inputs, output, optimizer, words, lambda result: tf.reduce_sum(cross_entropy(targets, result)) / shape[0]


def residual_net(sizes, values):
    """ResNet-20 for small images; strided blocks have a convolution of one by one beside them."""

    def unit(x, kernel, before, width, stride=1):
        limit = math.sqrt(6 / (kernel * kernel * before))
        convolution = layers.Conv2D(width, kernel, stride, "same", use_bias=False)
        x = values.load(convolution, values.uniform((kernel, kernel, before, width), limit))(x)
        scale, bias = values.ones(width), values.zeros(width)
        statistics = np.zeros(width, np.float32), np.ones(width, np.float32)
        norm = layers.BatchNormalization(momentum=0.9, epsilon=1e-5)
        return values.load(norm, scale, bias, *statistics)(x)

    batch, size, classes, widths = (sizes[name] for name in ("batch", "size", "classes", "widths"))
    inputs = keras.Input((size, size, 3))
    x, before = layers.ReLU()(unit(inputs, 3, 3, widths[0])), widths[0]
    for stage, width in enumerate(widths):
        for index in range(sizes["blocks"]):
            stride = 2 if stage > 0 and index == 0 else 1
            inner = layers.ReLU()(unit(x, 3, before, width, stride))
            inner = unit(inner, 3, width, width)
            beside = unit(x, 1, before, width, stride) if before != width else x
            x, before = layers.ReLU()(layers.Add()([inner, beside])), width
    output = values.dense(before, classes, math.sqrt(6 / (before + classes)))(layers.GlobalAveragePooling2D()(x))
    images, labels = uniform(1, (batch, size, size, 3), math.sqrt(3)), tokens(2, (batch,), classes)
    optimizer = keras.optimizers.SGD(0.05, 0.9)
    return inputs, output, optimizer, images, lambda result: tf.reduce_mean(cross_entropy(labels, result))


class Places(layers.Layer):
    def build(self, shape):
        self.places = self.add_weight(shape=shape[1:])

    def call(self, x):
        return x + self.places


def encoder(sizes, values):
    batch, time, vocabulary, size, heads, hidden = (
        sizes[name] for name in ("batch", "time", "vocabulary", "size", "heads", "hidden")
    )
    limit, per_head = 0.02 * math.sqrt(3), size // heads
    inputs = keras.Input((time,), dtype="int32")
    words = values.load(layers.Embedding(vocabulary, size), values.uniform((vocabulary, size), limit))
    places = values.load(Places(), values.uniform((time, size), limit))
    x = values.norm(size)(places(words(inputs)))
    for _ in range(sizes["layers"]):
        parts = [(values.uniform((size, size), limit), values.zeros(size)) for _ in range(4)]
        shaped = [(kernel.reshape(size, heads, per_head), bias.reshape(heads, per_head)) for kernel, bias in parts[:3]]
        last = (parts[3][0].reshape(heads, per_head, size), parts[3][1])
        # Keras has query, key, value and output in this order.
        attention = layers.MultiHeadAttention(heads, per_head)
        values.load(attention, *(value for part in [*shaped, last] for value in part))
        attention_norm = values.norm(size)
        x = attention_norm(layers.Add()([x, attention(x, x)]))
        widened = values.dense(size, hidden, limit, lambda t: keras.activations.gelu(t, approximate=True))(x)
        contracted = values.dense(hidden, size, limit)(widened)
        x = values.norm(size)(layers.Add()([x, contracted]))
    output = values.dense(size, vocabulary, limit)(x)
    originals = tokens(1, (batch, time), vocabulary)
    hidden_words = (np.arange(originals.size) % 7 == 0).reshape(originals.shape)
    weights = hidden_words.astype(np.float32)

    def loss_of(result):
        return tf.reduce_sum(cross_entropy(originals, result) * weights) / tf.reduce_sum(weights)

    optimizer = keras.optimizers.AdamW(1e-4, 0.01, 0.9, 0.999, 1e-8)
    return inputs, output, optimizer, np.where(hidden_words, 1, originals).astype(np.int32), loss_of


WORKLOADS = {"w1": mlp, "w2": word_model, "w3": residual_net, "w4": encoder}


def prepare(job):
    """The step as a function without arguments that gives the loss."""
    tf.config.threading.set_intra_op_parallelism_threads(job["threads"])
    tf.config.threading.set_inter_op_parallelism_threads(job["threads"])
    keras.mixed_precision.set_global_policy(job["precision"])
    sizes, values = job["sizes"], Values()
    inputs, output, optimizer, data, loss_of = WORKLOADS[job["workload"]](sizes, values)
    model = keras.Model(inputs, output)
    for layer, weights in values.loads:
        layer.set_weights(weights)
    weights, data = model.trainable_variables, tf.constant(data)
    optimizer.build(weights)

    @tf.function(jit_compile=False)
    def train():
        with tf.GradientTape() as tape:
            loss = loss_of(tf.cast(model(data, training=True), tf.float32))
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    divisor = sizes["time"] if job["workload"] == "w2" else 1
    return lambda: float(train().numpy()) / divisor


run("keras", prepare, {"keras": keras.__version__, "tensorflow": tf.__version__})
