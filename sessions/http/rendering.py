"""The API's renderer: JSON in which a number leaves exactly as the ledger holds it, never as a float or as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from django.utils.functional import Promise
from rest_framework.renderers import BaseRenderer


class ExactJSONRenderer(BaseRenderer):
    """JSON in UTF-8: `Decimal` as a number with all its digits, instants as `…Z`, ids as text."""

    media_type = "application/json"
    format = "json"
    charset = None  # JSON is UTF-8; a charset parameter would mean nothing (RFC 8259)

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else encode(data)


def encode(data: object) -> bytes:
    """The JSON of `data`."""
    return _encoder.encode(data)


def _text(value: object) -> str:
    """Texts in disguise: translations to be, and details of DRF's errors."""
    if isinstance(value, str | Promise):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


_encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=_text)
