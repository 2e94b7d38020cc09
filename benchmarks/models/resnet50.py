"""ResNet-50 v1.5 of 224 x 224 with random, calibrated weights: as a tfjs GraphModel, and as a frozen SavedModel of the same graph.

    write(FOLDER) makes

    graph_model/    as the tensorflowjs converter leaves it: batch normalisation folded, convolutions fused with bias and Relu
    saved_model/    the same nodes, names and weights, with each fused op as the plain ops that it stands for
    images.bin      sample images, uint8 [IMAGES, 224, 224, 3]; a pixel is value / 255
    expected.bin    what Python's TensorFlow computes for them from the SavedModel, float32 [IMAGES, 1000]

The weights keep 5 bits of mantissa, so that a compressed copy takes a third of the space.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import tensorflow as tf
import tf_keras as keras
from generator import convert
from google.protobuf import json_format
from tensorflow.core.protobuf import saved_model_pb2

IMAGES = 16
SIZE = 224
CLASSES = 1000
MANTISSA_BITS = 5
# Smaller constants (biases) stay as they are: they are few.
LARGE = 4096
STAGES = [(64, 3), (128, 4), (256, 6), (512, 3)]


def images():
    """Smooth pictures that differ in colour, contrast, scale and noise: a random network tells them apart."""
    random = np.random.RandomState(5)
    made = []
    for _ in range(IMAGES):
        cells = random.choice([2, 4, 8, 16, 32, 64])
        coarse = random.normal(size=[1, cells, cells, 3]).astype(np.float32)
        smooth = tf.image.resize(coarse, [SIZE, SIZE], "bicubic")[0].numpy()
        mean, contrast = random.uniform(0.2, 0.8, size=3), random.uniform(0.1, 0.4)
        noise = random.normal(scale=random.uniform(0.01, 0.1), size=[SIZE, SIZE, 3])
        made.append(np.clip(mean + contrast * smooth + noise, 0, 1))
    return np.round(np.stack(made) * 255).astype(np.uint8)


def _normalised(x, filters, kernel, strides=1, padding="same"):
    x = keras.layers.Conv2D(filters, kernel, strides, padding, use_bias=False)(x)
    # The statistics of one batch as they are, once: that calibrates every layer to unit variance.
    return keras.layers.BatchNormalization(momentum=0.0, epsilon=1e-5)(x)


def _block(x, filters, strides):
    """A bottleneck; v1.5 strides in its 3 x 3 convolution, v1 in the first."""
    shortcut = x if x.shape[-1] == 4 * filters and strides == 1 else _normalised(x, 4 * filters, 1, strides)
    y = keras.layers.ReLU()(_normalised(x, filters, 1))
    y = keras.layers.ReLU()(_normalised(y, filters, 3, strides))
    y = _normalised(y, 4 * filters, 1)
    return keras.layers.ReLU()(keras.layers.Add()([shortcut, y]))


def _network():
    image = keras.Input([SIZE, SIZE, 3], name="image")
    x = keras.layers.ZeroPadding2D(3)(image)
    x = keras.layers.ReLU()(_normalised(x, 64, 7, 2, "valid"))
    x = keras.layers.MaxPooling2D(3, 2, "same")(x)
    for stage, (filters, blocks) in enumerate(STAGES):
        for block in range(blocks):
            x = _block(x, filters, 2 if stage > 0 and block == 0 else 1)
    features = keras.layers.GlobalAveragePooling2D()(x)
    logits = keras.layers.Dense(CLASSES)(features)
    return keras.Model(image, [keras.layers.Softmax(name="probabilities")(logits), features])


def _calibrated(pixels):
    """The network with weights such that activations keep their scale, and the likeliest class differs between images."""
    keras.utils.set_random_seed(11)
    model = _network()
    model(pixels, training=True)
    features = model(pixels, training=False)[1].numpy()
    dense = next(layer for layer in model.layers if isinstance(layer, keras.layers.Dense))
    kernel = dense.kernel.numpy()
    logits = features @ kernel
    scale = 2.0 / np.std(logits - logits.mean(0))
    dense.kernel.assign(kernel * scale)
    dense.bias.assign(-logits.mean(0) * scale)
    return keras.Model(model.input, model.outputs[0])


def _rounded(values):
    """float32 rounded to MANTISSA_BITS bits of mantissa."""
    dropped = 23 - MANTISSA_BITS
    bits = values.view(np.uint32).astype(np.uint64) + (1 << (dropped - 1))
    return (bits >> dropped << dropped).astype(np.uint32).view(np.float32)


def _round_weights(folder):
    """Rounds the large weights of a GraphModel in its files; returns all of them by name, and the model.json."""
    model = json.loads((folder / "model.json").read_text())
    weights = {}
    for group in model["weightsManifest"]:
        files = [folder / name for name in group["paths"]]
        data = np.frombuffer(b"".join(file.read_bytes() for file in files), np.uint8).copy()
        offset = 0
        for spec in group["weights"]:
            dtype, count = np.dtype(spec["dtype"]), int(np.prod(spec["shape"]))
            values = data[offset : offset + count * dtype.itemsize].view(dtype)
            if dtype == np.float32 and count >= LARGE:
                values[:] = _rounded(values)
            weights[spec["name"]] = values.reshape(spec["shape"])
            offset += values.nbytes
        for file in files:
            size = file.stat().st_size
            file.write_bytes(data[:size].tobytes())
            data = data[size:]
    return model, weights


def _plain(node):
    """A fused node as plain ops; the last one takes over its name."""
    main = {"_FusedConv2D": "Conv2D", "_FusedMatMul": "MatMul"}.get(node.op)
    if main is None:
        return [node]
    x, filters, bias = node.input
    kept = {
        "Conv2D": ["T", "strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu"],
        "MatMul": ["T", "transpose_a", "transpose_b"],
    }[main]
    steps = [tf.compat.v1.NodeDef(name=f"{node.name}/{main}", op=main, input=[x, filters])]
    for name in kept:
        if name in node.attr:
            steps[0].attr[name].CopyFrom(node.attr[name])
    for fused in [name.decode() for name in node.attr["fused_ops"].list.s]:
        inputs = [steps[-1].name] + ([bias] if fused == "BiasAdd" else [])
        steps.append(tf.compat.v1.NodeDef(name=f"{node.name}/{fused}", op=fused, input=inputs))
        steps[-1].attr["T"].type = node.attr["T"].type
        if fused == "BiasAdd" and "data_format" in node.attr and main == "Conv2D":
            steps[-1].attr["data_format"].CopyFrom(node.attr["data_format"])
    steps[-1].name = node.name
    return steps


def _frozen(model, weights):
    """The GraphDef of a GraphModel with its weights as constants."""
    graph = json_format.ParseDict(model["modelTopology"], tf.compat.v1.GraphDef())
    plain = tf.compat.v1.GraphDef(versions=graph.versions)
    for node in graph.node:
        node.device = ""  # the converter leaves the CPU of the machine that it ran on
        if node.op == "Const":
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(weights[node.name]))
        plain.node.extend(_plain(node))
    return plain


def _write_saved_model(folder, graph, signature):
    saved = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    meta = saved.meta_graphs.add(graph_def=graph)
    meta.meta_info_def.tags.append("serve")
    meta.meta_info_def.tensorflow_version = tf.__version__
    serving = meta.signature_def["serving_default"]
    json_format.ParseDict(signature, serving)
    serving.method_name = "tensorflow/serving/predict"
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString(deterministic=True))


def _check(probabilities):
    """Random networks easily give every image the same class, or one class everything."""
    highest = probabilities.max(1)
    classes = len(set(probabilities.argmax(1)))
    print(
        f"  highest probabilities {highest.min():.3f} to {highest.max():.3f}, {classes} classes for {IMAGES} images"
    )
    if not (
        np.isfinite(probabilities).all() and highest.min() > 0.01 and highest.max() < 0.95 and classes > 8
    ):
        raise ValueError(f"degenerate outputs, the highest probabilities are {highest}")


def write(folder):
    pixels = images()
    floats = pixels.astype(np.float32) / np.float32(255)
    network = _calibrated(floats)
    module = tf.Module()
    module.network = network
    module.serve = tf.function(
        lambda image: {"probabilities": network(image, training=False)},
        input_signature=[tf.TensorSpec([None, SIZE, SIZE, 3], tf.float32, name="image")],
    )
    unfolded = Path(folder) / "unfolded"
    tf.saved_model.save(module, str(unfolded), signatures={"serving_default": module.serve})
    convert.convert(unfolded, folder / "graph_model")
    shutil.rmtree(unfolded)

    model, weights = _round_weights(folder / "graph_model")
    _write_saved_model(folder / "saved_model", _frozen(model, weights), model["signature"])
    serve = tf.saved_model.load(str(folder / "saved_model")).signatures["serving_default"]
    probabilities = next(iter(serve(tf.constant(floats)).values())).numpy()
    _check(probabilities)
    (folder / "images.bin").write_bytes(pixels.tobytes())
    (folder / "expected.bin").write_bytes(probabilities.astype("<f4").tobytes())
