"""The node's parts that need no node: images, DNS messages, credentials, records."""

import json
import os
import stat
import struct
import subprocess
import sys
import tarfile

import pytest
import yaml
from cryptography import x509

from trainyard.cluster.node import dns, layout, settings
from trainyard.cluster.node.holder import Holder, birth
from trainyard.cluster.node.images import write_archive


def test_an_image_archive_is_the_same_for_the_same_program(tmp_path):
    program = tmp_path / "pause"
    program.write_bytes(b"\x7fELF stand-in")
    first, second = tmp_path / "1.tar", tmp_path / "2.tar"
    write_archive(first, "localhost/x:1", program)
    write_archive(second, "localhost/x:1", program)
    assert first.read_bytes() == second.read_bytes()


def test_an_image_archive_names_itself_and_its_program(tmp_path):
    program = tmp_path / "pause"
    program.write_bytes(b"\x7fELF stand-in")
    write_archive(tmp_path / "x.tar", "localhost/x:1", program)
    with tarfile.open(tmp_path / "x.tar") as archive:

        def blob(digest: str) -> bytes:
            member = archive.extractfile(f"blobs/sha256/{digest.removeprefix('sha256:')}")
            assert member is not None
            return member.read()

        index = archive.extractfile("index.json")
        assert index is not None
        entry = json.load(index)["manifests"][0]
        manifest = json.loads(blob(entry["digest"]))
        config = json.loads(blob(manifest["config"]["digest"]))
    assert entry["annotations"] == {"io.containerd.image.name": "localhost/x:1"}
    assert config["config"]["Entrypoint"] == ["/pause"]
    assert len(config["rootfs"]["diff_ids"]) == len(manifest["layers"]) == 1


def test_a_dns_question_is_answered_with_its_own_number():
    question = dns.query("kubernetes.default.svc.cluster.local", 7)
    header = struct.pack(">6H", 7, 0x8580, 1, 1, 0, 0)
    # The answer's name is a pointer to the question's, at byte 12.
    record = struct.pack(">3HIH", 0xC00C, 1, 1, 5, 4) + bytes([10, 96, 0, 1])
    answer = header + question[12:] + record
    assert dns.addresses(answer, 7) == ["10.96.0.1"]
    assert dns.addresses(answer, 8) == []


def test_a_dns_answer_without_addresses_gives_none():
    question = dns.query("nowhere.cluster.local", 7)
    assert dns.addresses(struct.pack(">6H", 7, 0x8583, 1, 0, 0, 0) + question[12:], 7) == []


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("state")
    if not any((f / "bridge").exists() for f in settings.system.CNI_FOLDERS):
        pytest.fail("The CNI plugins are missing; trainyard up installs them.")
    settings.write_files(folder, "127.0.0.1:12345")
    return folder


def test_only_their_owner_may_read_keys_and_kubeconfigs(state):
    secret = [
        p for p in state.rglob("*") if p.suffix in {".key", ".conf"} or p.name == "kubeconfig"
    ]
    secret = [p for p in secret if p.name != "resolv.conf"]
    assert len(secret) == 12
    for path in secret:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_the_users_kubeconfig_leads_to_loopback(state):
    config = yaml.safe_load((state / "kubeconfig").read_text())
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:12345"
    names = x509.load_pem_x509_certificate((state / "pki" / "apiserver.crt").read_bytes())
    hosts = names.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "kubernetes.default.svc" in hosts.get_values_for_type(x509.DNSName)
    assert "127.0.0.1" in [str(ip) for ip in hosts.get_values_for_type(x509.IPAddress)]


def test_socket_paths_stay_short():
    # sun_path, the address of a Unix socket, holds 108 bytes with the closing zero.
    assert len(f"{layout.CONTAINERD_SOCKET}.ttrpc") < 108


def test_every_addon_is_whole_yaml():
    kinds = [found["kind"] for found in yaml.safe_load_all(settings.addons())]
    assert {"Deployment", "Service", "StorageClass"} <= set(kinds)
    assert layout.DNS_ADDRESS in settings.addons()


def test_a_record_survives_being_written(tmp_path):
    holder = Holder(7, 8, ["pids"])
    holder.save(tmp_path / "x.json")
    assert Holder.load(tmp_path / "x.json") == holder
    assert Holder.load(tmp_path / "none.json") is None


def test_another_process_of_the_same_id_is_not_the_node():
    born = birth(os.getpid())
    assert born is not None
    assert Holder(os.getpid(), born, []).alive
    assert not Holder(os.getpid(), born - 1, []).alive


def test_a_process_that_ended_has_no_birth():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert birth(child.pid) is None


def test_a_node_that_nobody_recorded_ends_at_once(tmp_path):
    module = [sys.executable, "-m", "trainyard.cluster.node.init", str(tmp_path / "plan.json")]
    done = subprocess.run(
        module, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "ended before it was recorded" in done.stderr
