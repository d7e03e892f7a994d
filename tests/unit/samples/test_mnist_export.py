"""Versions of exported models: counted by number, whatever else lies in the folder."""

import pytest


def test_versions_are_ordered_by_number(sample, tmp_path):
    for name in ("1", "2", "10"):
        (tmp_path / name).mkdir()
    assert sample("export").versions(tmp_path) == [1, 2, 10]


def test_what_is_no_version_does_not_count(sample, tmp_path):
    for name in (".unfinished-7", "tmp", "1.5", "²", "-3"):
        (tmp_path / name).mkdir()
    (tmp_path / "9").write_text("a file")
    assert sample("export").versions(tmp_path) == []


def test_a_folder_that_is_not_there_has_no_versions(sample, tmp_path):
    assert sample("export").versions(tmp_path / "none") == []


@pytest.fixture
def predict(sample):
    pytest.importorskip("numpy", reason="the sample program needs numpy")
    return sample("predict")


def test_prediction_takes_the_newest_version(predict, tmp_path):
    for name in ("9", "10", ".unfinished-11"):
        (tmp_path / name).mkdir()
    assert predict.newest(tmp_path) == tmp_path / "10"


def test_prediction_without_a_model_says_what_to_do(sample, predict, tmp_path):
    with pytest.raises(sample("errors").SampleError, match=r"run train\.py") as caught:
        predict.newest(tmp_path)
    assert str(tmp_path) in str(caught.value)
