"""The client certificate that an exec plugin gave: since when and until when it is valid."""

from __future__ import annotations

from datetime import datetime

import msgspec


class ExecCertificate(msgspec.Struct, frozen=True):
    """One certificate; two are equal that are the same certificate."""

    pem: bytes
    since: datetime
    """From when on it is valid (notBefore)."""
    until: datetime
    """When it expires (notAfter)."""

    @classmethod
    def of(cls, pem: bytes) -> ExecCertificate:
        """The first certificate of a chain. Raises ValueError for what is none."""
        from cryptography import x509

        certificate = x509.load_pem_x509_certificates(pem)[0]
        return cls(pem, certificate.not_valid_before_utc, certificate.not_valid_after_utc)
