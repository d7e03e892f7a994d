"""How each of the node's programs is called, and the files that it reads."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from trainyard import system
from trainyard.cluster.node import layout
from trainyard.cluster.node.layout import STATE
from trainyard.cluster.node.pki import Authority, kubeconfig, signing_key
from trainyard.process import write_private

PKI = STATE / "pki"

KERNEL_SETTINGS = {
    "vm/overcommit_memory": "1",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
"""What kubelet wants in /proc/sys and would set for the whole machine. The node shows it
files with these values instead, in its own mount namespace, so that the host's stay."""


@dataclass(frozen=True)
class Component:
    """One program of the node: its command, and whether it needs the API server to answer."""

    name: str
    argv: list[str]
    after_api: bool = False


@dataclass(frozen=True)
class Plan:
    """All that the node's first process needs to know, as it is handed over in a file."""

    components: list[Component]
    search_path: list[str]
    listener: int
    tools: str
    state: str
    kernel_settings: dict[str, str] = field(default_factory=lambda: dict(KERNEL_SETTINGS))

    def dump(self, path: Path) -> None:
        """Write the plan as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1))

    @staticmethod
    def load(path: Path) -> "Plan":
        """Read what ``dump`` wrote."""
        content = json.loads(path.read_text())
        components = [Component(**component) for component in content.pop("components")]
        return Plan(components=components, **content)


def components(programs: dict[str, Path]) -> list[Component]:
    """Give the node's programs in the order of their start.

    ``programs`` maps each program's name to its path as the node sees it.
    """

    def call(name: str, *flags: str, after_api: bool = False) -> Component:
        return Component(name, [str(programs[name]), *flags], after_api)

    return [
        call(
            "etcd",
            f"--data-dir={STATE}/etcd",
            "--listen-client-urls=http://127.0.0.1:2379",
            "--advertise-client-urls=http://127.0.0.1:2379",
            "--listen-peer-urls=http://127.0.0.1:2380",
            # The state does not outlive the node, so that no write needs to reach the disk.
            "--unsafe-no-fsync",
        ),
        call("containerd", f"--config={STATE}/containerd.toml"),
        call("kube-apiserver", *_api_server_flags()),
        call("kube-controller-manager", *_controller_manager_flags(), after_api=True),
        call(
            "kube-scheduler",
            f"--kubeconfig={STATE}/scheduler.conf",
            "--leader-elect=false",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            after_api=True,
        ),
        call(
            "kubelet",
            f"--config={STATE}/kubelet.yaml",
            f"--kubeconfig={STATE}/kubelet.conf",
            f"--hostname-override={layout.NAME}",
            f"--node-ip={layout.NODE_ADDRESS}",
            f"--root-dir={STATE}/kubelet",
            after_api=True,
        ),
        call(
            "kube-proxy",
            f"--kubeconfig={STATE}/proxy.conf",
            f"--hostname-override={layout.NAME}",
            f"--cluster-cidr={layout.POD_NETWORK}",
            "--proxy-mode=iptables",
            # The size of the connection table is one setting for the whole machine.
            "--conntrack-max-per-core=0",
            after_api=True,
        ),
        call(
            "provisioner",
            f"--kubeconfig={STATE}/provisioner.conf",
            f"--root={STATE}/volumes",
            f"--node={layout.NAME}",
            after_api=True,
        ),
        call(
            "netpol",
            f"--kubeconfig={STATE}/netpol.conf",
            f"--node={layout.NAME}",
            f"--service-cluster-ip-range={layout.SERVICE_NETWORK}",
            after_api=True,
        ),
    ]


def _api_server_flags() -> list[str]:
    return [
        "--etcd-servers=http://127.0.0.1:2379",
        f"--advertise-address={layout.NODE_ADDRESS}",
        f"--secure-port={layout.API_PORT}",
        f"--service-cluster-ip-range={layout.SERVICE_NETWORK}",
        f"--client-ca-file={PKI}/ca.crt",
        f"--tls-cert-file={PKI}/apiserver.crt",
        f"--tls-private-key-file={PKI}/apiserver.key",
        f"--kubelet-certificate-authority={PKI}/ca.crt",
        f"--kubelet-client-certificate={PKI}/apiserver-kubelet.crt",
        f"--kubelet-client-key={PKI}/apiserver-kubelet.key",
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-account-key-file={PKI}/service-accounts.pub",
        f"--service-account-signing-key-file={PKI}/service-accounts.key",
        f"--service-account-issuer=https://kubernetes.default.svc.{layout.CLUSTER_DOMAIN}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--admission-control-config-file={STATE}/admission.yaml",
        "--allow-privileged=true",
    ]


def _controller_manager_flags() -> list[str]:
    return [
        f"--kubeconfig={STATE}/controller-manager.conf",
        f"--cluster-cidr={layout.POD_NETWORK}",
        "--allocate-node-cidrs=false",
        f"--root-ca-file={PKI}/ca.crt",
        f"--service-account-private-key-file={PKI}/service-accounts.key",
        "--use-service-account-credentials=true",
        f"--cluster-signing-cert-file={PKI}/ca.crt",
        f"--cluster-signing-key-file={PKI}/ca.key",
        "--leader-elect=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]


def write_files(state: Path, api_address: str) -> None:
    """Write every file that the programs read into ``state``, the folder as the host sees it.

    ``api_address`` is the host and port at which the machine's user reaches the API server.
    """
    _write_credentials(state, api_address)
    (state / "containerd.toml").write_text(_containerd_config())
    for name, content in {
        "kubelet.yaml": _kubelet_config(),
        "admission.yaml": _admission_config(),
        "cni/10-pods.conflist": _cni_config(),
    }.items():
        path = state / name
        path.parent.mkdir(exist_ok=True)
        # JSON is YAML too, and CNI reads only JSON.
        path.write_text(json.dumps(content, indent=1))
    # Pods that take the node's own resolver get one that knows no server.
    (state / "resolv.conf").write_text("# The node has no way out and so no name server.\n")


def _write_credentials(state: Path, api_address: str) -> None:
    pki = state / "pki"
    pki.mkdir()
    pki.chmod(0o700)
    authority = Authority()
    authority.pair.write(pki, "ca")
    authority.server(
        "kube-apiserver",
        "127.0.0.1",
        "localhost",
        layout.NODE_ADDRESS,
        layout.API_SERVICE_ADDRESS,
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        f"kubernetes.default.svc.{layout.CLUSTER_DOMAIN}",
    ).write(pki, "apiserver")
    authority.client("kube-apiserver", "system:masters").write(pki, "apiserver-kubelet")
    authority.server(layout.NAME, layout.NAME, layout.NODE_ADDRESS).write(pki, "kubelet")
    private, public = signing_key()
    write_private(pki / "service-accounts.key", private)
    (pki / "service-accounts.pub").write_bytes(public)

    certificate = authority.pair.certificate
    inside = f"https://127.0.0.1:{layout.API_PORT}"
    for name, server, client in (
        ("kubeconfig", f"https://{api_address}", authority.client("admin", "system:masters")),
        ("controller-manager.conf", inside, authority.client("system:kube-controller-manager")),
        ("scheduler.conf", inside, authority.client("system:kube-scheduler")),
        ("kubelet.conf", inside, authority.client(f"system:node:{layout.NAME}", "system:nodes")),
        ("proxy.conf", inside, authority.client("system:kube-proxy")),
        ("provisioner.conf", inside, authority.client("trainyard:provisioner")),
        ("netpol.conf", inside, authority.client("trainyard:netpol")),
    ):
        write_private(state / name, kubeconfig(server, certificate, client).encode())


def _kubelet_config() -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "x509": {"clientCAFile": f"{PKI}/ca.crt"},
            "webhook": {"enabled": True},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{PKI}/kubelet.crt",
        "tlsPrivateKeyFile": f"{PKI}/kubelet.key",
        "containerRuntimeEndpoint": f"unix://{layout.CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{layout.cgroup()}",
        "enforceNodeAllocatable": [],
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": [layout.DNS_ADDRESS],
        "clusterDomain": layout.CLUSTER_DOMAIN,
        "resolvConf": f"{STATE}/resolv.conf",
        "podLogsDir": f"{STATE}/logs/pods",
        "serializeImagePulls": False,
        "maxPods": 200,
        "kubeAPIQPS": 200,
        "kubeAPIBurst": 400,
        # Images come by hand and cannot be pulled again, so that none is ever collected.
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
    }


def _admission_config() -> dict[str, Any]:
    """Pod Security: what a namespace that says nothing gets.

    ``baseline`` keeps the node's owner safe; warnings tell what ``restricted`` would refuse.
    """
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [
            {
                "name": "PodSecurity",
                "configuration": {
                    "apiVersion": "pod-security.admission.config.k8s.io/v1",
                    "kind": "PodSecurityConfiguration",
                    "defaults": {"enforce": "baseline", "warn": "restricted"},
                    "exemptions": {"namespaces": ["kube-system"]},
                },
            }
        ],
    }


def _cni_config() -> dict[str, Any]:
    return {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "pods",
                "isGateway": True,
                "ipMasq": True,
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "dataDir": f"{layout.INSIDE}/ipam",
                    "ranges": [[{"subnet": layout.POD_NETWORK}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }


def _containerd_config() -> str:
    return f"""\
version = 3
root = "{STATE}/containerd"
state = "{layout.INSIDE}/containerd/state"
disabled_plugins = ["io.containerd.nri.v1.nri"]

[grpc]
  address = "{layout.CONTAINERD_SOCKET}"

[ttrpc]
  address = "{layout.CONTAINERD_SOCKET}.ttrpc"

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "localhost/trainyard/pause:node"

[plugins."io.containerd.cri.v1.runtime"]
  # A loaded profile would outlive the node in the host's kernel.
  disable_apparmor = true
  # Where the machine withholds CAP_SYS_RESOURCE, runc may not lower the score.
  restrict_oom_score_adj = true

  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{system.cni_folder()}"]
    conf_dir = "{STATE}/cni"

  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def addons() -> str:
    """Give the manifests that make the bare cluster usable: DNS, storage and policies."""
    folder = Path(__file__).parent / "addons"
    return "\n---\n".join(path.read_text() for path in sorted(folder.glob("*.yaml")))
