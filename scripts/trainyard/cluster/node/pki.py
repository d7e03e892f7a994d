"""The cluster's keys and certificates: made anew for each node, never kept."""

import base64
import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from trainyard.process import write_private

VALID_DAYS = 365


@dataclass(frozen=True)
class Pair:
    """A private key and its certificate, both as PEM text."""

    key: bytes
    certificate: bytes

    def write(self, folder: Path, name: str) -> None:
        """Write ``name.key`` (mode 0600) and ``name.crt`` into ``folder``."""
        write_private(folder / f"{name}.key", self.key)
        (folder / f"{name}.crt").write_bytes(self.certificate)


class Authority:
    """A certificate authority that signs for one cluster."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        subject = _subject("trainyard", ())
        self._certificate = (
            _builder(subject, subject, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pair(self) -> Pair:
        """The authority's own key and certificate."""
        return _pair(self._key, self._certificate)

    def client(self, user: str, *groups: str) -> Pair:
        """Sign a client certificate: ``user`` becomes the common name, ``groups`` organisations."""
        return self._signed(_subject(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def server(self, name: str, *hosts: str) -> Pair:
        """Sign a server certificate for DNS names and addresses."""
        return self._signed(
            _subject(name, ()), ExtendedKeyUsageOID.SERVER_AUTH, [_general_name(h) for h in hosts]
        )

    def _signed(
        self, subject: x509.Name, usage: x509.ObjectIdentifier, hosts: list[x509.GeneralName]
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, self._certificate.subject, key.public_key()).add_extension(
            x509.ExtendedKeyUsage([usage]), critical=False
        )
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        return _pair(key, builder.sign(self._key, hashes.SHA256()))


def signing_key() -> tuple[bytes, bytes]:
    """Make a key pair for service account tokens: private and public PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return _private_pem(key), public


def kubeconfig(server: str, authority: bytes, client: Pair) -> str:
    """Give a kubeconfig with one context, ``trainyard``, that carries its credentials."""

    def encoded(pem: bytes) -> str:
        return base64.b64encode(pem).decode()

    name = "trainyard"
    cluster = {"server": server, "certificate-authority-data": encoded(authority)}
    user = {
        "client-certificate-data": encoded(client.certificate),
        "client-key-data": encoded(client.key),
    }
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        },
        sort_keys=False,
    )


def _subject(user: str, groups: tuple[str, ...]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    # A machine's clock may be set back a little between two commands.
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=VALID_DAYS))
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _pair(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> Pair:
    return Pair(_private_pem(key), certificate.public_bytes(serialization.Encoding.PEM))
