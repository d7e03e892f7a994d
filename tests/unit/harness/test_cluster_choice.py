"""Which cluster is chosen, and what is refused, with stand-ins for docker and kind."""

import os
import stat

import pytest

from trainyard.cluster import choice, kind
from trainyard.cluster.kind import KindCluster
from trainyard.cluster.kubeconfig import KubeconfigCluster
from trainyard.cluster.node import provider
from trainyard.cluster.node.provider import NodeCluster
from trainyard.console import Stages
from trainyard.errors import TrainyardError


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a stand-in for a program first on PATH, written in shell."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    kind.engine.cache_clear()

    def write(name: str, body: str) -> None:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    yield write
    kind.engine.cache_clear()


DEAD = """echo '{"ServerErrors":["Cannot connect"]}'"""
ALIVE = """echo '{"ServerVersion":"28.1"}'"""


def test_a_client_without_its_engine_is_no_engine(program):
    program("docker", DEAD)
    program("podman", "exit 125")
    assert kind.engine() is None


def test_kind_is_chosen_where_an_engine_answers(program, monkeypatch):
    program("docker", ALIVE)
    monkeypatch.delenv("TRAINYARD_CLUSTER", raising=False)
    assert isinstance(choice.choose(), KindCluster)


def test_the_node_is_chosen_where_none_answers(program, monkeypatch):
    program("docker", DEAD)
    program("podman", "exit 125")
    monkeypatch.delenv("TRAINYARD_CLUSTER", raising=False)
    assert isinstance(choice.choose(), NodeCluster)


def test_an_engine_that_hangs_is_none(program, monkeypatch):
    program("docker", "exec sleep 60")
    program("podman", ALIVE)
    real = kind.run
    monkeypatch.setattr(kind, "run", lambda argv, **more: real(argv, **{**more, "timeout": 0.2}))
    assert kind.engine() == "podman"


def test_the_users_word_wins(program, monkeypatch):
    program("docker", ALIVE)
    monkeypatch.setenv("TRAINYARD_CLUSTER", "node")
    assert isinstance(choice.choose(), NodeCluster)
    monkeypatch.setenv("TRAINYARD_CLUSTER", "kubeconfig:prod")
    assert choice.choose().name == "kubeconfig:prod"


@pytest.mark.parametrize("value", ["none", "minikube", "node:x"])
def test_other_names_are_refused_with_the_choices(value, monkeypatch):
    monkeypatch.setenv("TRAINYARD_CLUSTER", value)
    with pytest.raises(TrainyardError, match=f"TRAINYARD_CLUSTER={value}.*\n.*kubeconfig:CONTEXT"):
        choice.choose()


def test_the_current_context_is_never_taken_unasked():
    with pytest.raises(TrainyardError, match="never taken unasked"):
        KubeconfigCluster("")


def test_an_unknown_context_is_named_with_the_way_to_list_them(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINYARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setattr("trainyard.tools.kubectl", lambda: kubectl_like(tmp_path))
    with pytest.raises(TrainyardError, match=r"no context prod.*\n.*get-contexts"):
        KubeconfigCluster("prod").kubeconfig()


def kubectl_like(folder):
    """Give a stand-in for kubectl that knows no context."""
    path = folder / "kubectl"
    path.write_text("#!/bin/sh\necho 'error: context was not found' >&2\nexit 1\n")
    path.chmod(0o755)
    return path


def test_images_cannot_be_loaded_into_somebody_elses_nodes(tmp_path):
    with pytest.raises(TrainyardError, match="Push it to a registry"):
        KubeconfigCluster("prod").load_image(tmp_path / "x.tar", "me/x:1")


def test_kind_without_an_engine_says_what_to_do(program):
    program("docker", DEAD)
    program("podman", "exit 125")
    with pytest.raises(TrainyardError, match=r"neither Docker nor Podman answers.*\n.*node"):
        KindCluster().up(Stages())


def test_kind_is_called_with_a_kubeconfig_of_its_own(program, tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINYARD_CACHE", str(tmp_path / "cache"))
    calls = tmp_path / "calls"
    program("docker", f"""if [ "$1" = exec ]; then echo docker.io/me/x:1; else {ALIVE}; fi""")
    # This stand-in for kind has no cluster before it is asked to create one.
    program(
        "kind",
        f"""echo "$@" >> {calls}
case "$1" in
  get) grep -q '^create' {calls} && echo trainyard; exit 0 ;;
  create) touch {tmp_path}/cache/kind/kubeconfig ;;
esac""",
    )
    monkeypatch.setattr("trainyard.tools.kubectl", lambda: tmp_path / "kubectl")
    kind.tools.kind.cache_clear()
    cluster = KindCluster()
    cluster.up(Stages())
    assert cluster.status().running
    assert cluster.kubeconfig().stat().st_mode & 0o777 == 0o600
    cluster.load_image(tmp_path / "image.tar", "me/x:1")
    with pytest.raises(TrainyardError, match="holds no image me/other:1"):
        cluster.load_image(tmp_path / "image.tar", "me/other:1")
    cluster.down()
    said = calls.read_text()
    assert f"create cluster --kubeconfig={tmp_path}/cache/kind/kubeconfig" in said
    assert f"load image-archive {tmp_path}/image.tar --name=trainyard" in said
    assert "delete cluster" in said
    kind.tools.kind.cache_clear()


@pytest.mark.parametrize(
    ("machine", "user", "said"),
    [("Darwin", 0, "on Linux only, not on Darwin"), ("Linux", 1000, "started by root")],
)
def test_the_node_refuses_in_one_sentence_and_names_the_way_out(machine, user, said, monkeypatch):
    monkeypatch.setattr(provider.platform, "system", lambda: machine)
    monkeypatch.setattr(provider.os, "geteuid", lambda: user)
    with pytest.raises(TrainyardError, match=said) as caught:
        NodeCluster().up(Stages())
    assert "TRAINYARD_CLUSTER=kind" in caught.value.remedy
    assert "kubeconfig:CONTEXT" in caught.value.remedy
