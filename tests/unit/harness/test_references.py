"""Names of images as runtimes keep them."""

import pytest

from trainyard.cluster.references import whole


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("train", "docker.io/library/train:latest"),
        ("me/train:1", "docker.io/me/train:1"),
        ("localhost/me/train:1", "localhost/me/train:1"),
        ("registry.example.org/train", "registry.example.org/train:latest"),
        ("host:5000/a/b:2", "host:5000/a/b:2"),
        ("me/train@sha256:0a", "docker.io/me/train@sha256:0a"),
    ],
)
def test_a_name_is_made_whole(said, kept):
    assert whole(said) == kept
