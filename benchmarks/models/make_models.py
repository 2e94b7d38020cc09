#!/usr/bin/env python3
"""Makes the models of the benchmarks, which are too large to commit.

    python3 benchmarks/models/make_models.py FOLDER [--model NAME ...] [--venv FOLDER]

Writes FOLDER/<name>/saved_model and FOLDER/<name>/graph_model (a tfjs GraphModel, by the tensorflowjs converter) for

    mobilenet_v2    Keras's architecture with seeded weights: no trained ones can be had offline, and the time does not
                    depend on them. Batch normalisation is calibrated on random images, so that activations keep the
                    scale that they have in a trained network.
    one_op          a Relu of 16 numbers: what a call costs besides the work
    slow            a chain of matrix products that takes 0.7 to 2 s on two cores
    resnet50        see resnet50.py; only made when asked for

Values are seeded: two runs on one machine give the same models. Runs in the virtual environment of the test fixtures.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "test" / "fixtures"))
sys.dont_write_bytecode = True

from generator import venv  # noqa: E402

NAMES = ["mobilenet_v2", "one_op", "slow", "resnet50"]


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", action="append", choices=NAMES, help="default: all but resnet50")
    parser.add_argument(
        "--venv", type=Path, default=venv.default_folder(), help="the Python environment (%(default)s)"
    )
    return parser.parse_args()


ARGUMENTS = arguments()
venv.run_inside(ARGUMENTS.venv)

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tf_keras as keras  # noqa: E402  (Keras 2, as most models in the tfjs format were made with)
from generator import convert  # noqa: E402


def images(count, size):
    """Smooth random images with some noise, values in 0 to 1."""
    random = np.random.RandomState(5)
    coarse = random.uniform(size=[count, 7, 7, 3]).astype(np.float32)
    smooth = tf.image.resize(coarse, [size, size], "bicubic")
    return tf.clip_by_value(smooth + random.normal(scale=0.1, size=[count, size, size, 3]), 0, 1)


def network(build):
    """A classifier of keras.applications with seeded, calibrated weights, as a tf.Module."""
    keras.utils.set_random_seed(11)
    model = build(weights=None)
    sample = images(16, 224)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.0  # takes the statistics of the sample as they are
    model(sample, training=True)
    # Outputs that differ from class to class: logits with a deviation of 2 instead of nearly 0.
    dense = model.layers[-1]
    features = keras.Model(model.input, dense.input)(sample, training=False)
    dense.kernel.assign(dense.kernel * (2.0 / np.std(features @ dense.kernel)))

    module = tf.Module()
    module.model = model
    module.serve = tf.function(
        lambda image: {"probabilities": model(image, training=False)},
        input_signature=[tf.TensorSpec([None, 224, 224, 3], tf.float32, name="image")],
    )
    highest = tf.reduce_max(module.serve(sample)["probabilities"], 1).numpy()
    if not (np.isfinite(highest).all() and (highest > 0.002).all() and (highest < 0.9).all()):
        raise ValueError(f"degenerate outputs, the highest probabilities are {highest}")
    return module


def one_op():
    module = tf.Module()
    module.serve = tf.function(
        lambda x: {"y": tf.nn.relu(x)}, input_signature=[tf.TensorSpec([1, 16], tf.float32, name="x")]
    )
    return module


def slow(size=256, rows=16384, products=60):
    """A small input and small weights (16 MB, repeated in the converted graph), spread over many rows inside."""
    matrix = np.random.RandomState(3).standard_normal([size, size]).astype(np.float32) / np.sqrt(size)
    module = tf.Module()
    module.matrix = tf.Variable(matrix)

    @tf.function(input_signature=[tf.TensorSpec([size], tf.float32, name="x")])
    def serve(x):
        x = x * tf.linspace(-1.0, 1.0, rows)[:, tf.newaxis]
        for _ in range(products):
            x = tf.tanh(x @ module.matrix)
        return {"y": tf.reduce_mean(x * x, 0)}

    module.serve = serve
    return module


def make(name, folder):
    print(f"Making {name}", flush=True)
    if name == "resnet50":
        import resnet50

        resnet50.write(folder / name)
        return
    module = {
        "mobilenet_v2": lambda: network(keras.applications.MobileNetV2),
        "one_op": one_op,
        "slow": slow,
    }[name]()
    saved = folder / name / "saved_model"
    tf.saved_model.save(module, str(saved), signatures={"serving_default": module.serve})
    convert.convert(saved, folder / name / "graph_model")


for name in ARGUMENTS.model or NAMES[:3]:
    make(name, ARGUMENTS.folder)
