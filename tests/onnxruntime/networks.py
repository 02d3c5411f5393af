"""Whole networks: the embedded example, and real ones where ../shared/data is there."""
import gzip
import os
from dataclasses import dataclass

import numpy as np

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SHARED = os.path.normpath(os.path.join(ROOT, "..", "shared", "data"))
CIFAR = ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616])
MNIST = ("mnist/calib-images-idx3-ubyte.gz", "mnist/test-images-idx3-ubyte.gz")
IMAGES = ("cifar10/calib_images_u8.npy", "cifar10/test_images_u8.npy")
DIGITS = ("digits_search_images.npy", "digits_test_images.npy")


@dataclass
class Network:
    model: str
    calibration: str
    data: str
    scale: str = ""
    mean: tuple = ()
    std: tuple = ()

    def name(self):
        return os.path.basename(self.model)

    def present(self):
        return all(os.path.exists(p) for p in (self.model, self.calibration, self.data))

    def options(self):
        lists = (("--scale", [self.scale] if self.scale else []), ("--mean", self.mean), ("--std", self.std))
        return [v for name, values in lists if len(values) for v in (name, ",".join(map(str, values)))]

    def samples(self, count):
        """What the network reads: (x*scale - mean)/std in float32."""
        x = (read_idx(self.data) if self.data.endswith(".gz") else np.load(self.data))[:count].astype(np.float32)
        if self.scale:
            above, below = self.scale.split("/")
            x = x * np.float32(float(above) / float(below))
        if len(self.mean):
            x = (x - column(self.mean)) / column(self.std)
        return x


def column(values):
    return np.asarray(values, np.float32).reshape(1, -1, 1, 1)


def read_idx(path):
    with gzip.open(path) as file:
        content = file.read()
    rank = content[3]
    return np.frombuffer(content, "u1", -1, 4 + 4 * rank).reshape(np.frombuffer(content, ">i4", rank, 4))


def shared(model, files, *preprocessing):
    return Network(os.path.join(SHARED, "models", model), *(os.path.join(SHARED, f) for f in files), *preprocessing)


NETWORKS = [
    Network(os.path.join(ROOT, "examples", "digits.onnx"), *(os.path.join(ROOT, "examples", f) for f in DIGITS), "1/255"),
    shared("mnist_onnxjs_7.onnx", MNIST),
    shared("vnn_mnist-net_256x2.onnx", MNIST, "1/255"),
    shared("resnet8_cifar10.onnx", IMAGES, "1/255", *CIFAR),
    shared("resnet8_skewed.onnx", IMAGES, "1/255", *CIFAR),
    shared("mbv2_cifar10.onnx", IMAGES, "1/255", *CIFAR),
    shared("vnn_resnet_4b.onnx", IMAGES, "1/255", CIFAR[0], [0.2471, 0.2435, 0.2616]),
]
