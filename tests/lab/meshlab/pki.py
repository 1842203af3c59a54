# Copyright (c) 2026, the meshops.istio contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's own certificate authority and the kubeconfigs it gives out."""

from __future__ import annotations

import base64
import ipaddress
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from meshlab.paths import Paths

LIFE = timedelta(days=365)
RENEW_BEFORE = timedelta(days=30)

SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
SERVER_ADDRESSES = ("127.0.0.1", "169.254.1.1", "10.245.0.1", "10.96.0.1")
SERVER_URL = "https://127.0.0.1:6443"

USERS = {
    "admin": ("admin", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "node": ("meshnode", "system:masters"),
}
"""Kubeconfigs: name -> (user, group)."""

CLIENTS = {"kubelet-client": ("kube-apiserver-kubelet-client", "system:masters")}
"""Certificates without a kubeconfig: the API server's towards the nodes."""


def ensure(paths: Paths) -> None:
    """Make keys, certificates and kubeconfigs unless good ones are there."""
    if _fresh(paths.pki / "ca.crt") and all(paths.kubeconfig(name).exists() for name in USERS):
        return
    paths.pki.mkdir(parents=True, exist_ok=True)
    paths.pki.chmod(0o700)
    authority = Authority.create()
    _service_account_keys(paths.pki)
    for name in ("server", "node"):
        certificate, key = authority.issue(name, "system:nodes" if name == "node" else "", serves=True)
        _write(paths.pki / f"{name}.crt", certificate)
        _write(paths.pki / f"{name}.key", key)
    for name, (user, group) in CLIENTS.items():
        certificate, key = authority.issue(user, group)
        _write(paths.pki / f"{name}.crt", certificate)
        _write(paths.pki / f"{name}.key", key)
    for name, (user, group) in USERS.items():
        certificate, key = authority.issue(user, group)
        _write(paths.kubeconfig(name), _kubeconfig(user, authority.certificate_pem, certificate, key))
    # Last, because its presence says that all the others belong to it.
    _write(paths.pki / "ca.crt", authority.certificate_pem)


class Authority:
    """A certificate authority that lives as long as one call of `ensure`; its key is never written down."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        self._key = key
        self._certificate = certificate

    @classmethod
    def create(cls) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "meshlab")])
        certificate = (
            _builder(name, name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            # Python 3.13 refuses an authority without a key usage.
            .add_extension(_usage(sign_certificates=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(key, certificate)

    @property
    def certificate_pem(self) -> bytes:
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, user: str, group: str, *, serves: bool = False) -> tuple[bytes, bytes]:
        """Certificate and key, both PEM. With `serves` also for a server at the lab's names and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
        if group:
            attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if serves else [])]
        builder = (
            _builder(x509.Name(attributes), self._certificate.subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(sign_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if serves:
            names: list[x509.GeneralName] = [x509.DNSName(name) for name in SERVER_NAMES]
            names += [x509.IPAddress(ipaddress.ip_address(address)) for address in SERVER_ADDRESSES]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM), _private_pem(key)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _service_account_keys(directory: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    _write(directory / "service-account.key", _private_pem(key))
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    _write(directory / "service-account.pub", public)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())


def _kubeconfig(user: str, authority: bytes, certificate: bytes, key: bytes) -> bytes:
    def data(pem: bytes) -> str:
        return base64.b64encode(pem).decode()

    config: str = yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "meshlab", "cluster": {"server": SERVER_URL, "certificate-authority-data": data(authority)}}],
            "users": [{"name": user, "user": {"client-certificate-data": data(certificate), "client-key-data": data(key)}}],
            "contexts": [{"name": "meshlab", "context": {"cluster": "meshlab", "user": user}}],
            "current-context": "meshlab",
        }
    )
    return config.encode()


def _write(path: Path, content: bytes) -> None:
    """Readable by the owner alone from its first byte on."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def _fresh(path: Path) -> bool:
    if not path.exists():
        return False
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    return certificate.not_valid_after_utc - datetime.now(timezone.utc) > RENEW_BEFORE
