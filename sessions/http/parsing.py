"""The API's parser for Django REST framework: the bytes of a body, bounded, read by `strict_json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.parsers import BaseParser

from agentstate.errors import Invalid
from sessions.http import strict_json


class TooLarge(Invalid):
    """The body is too large."""

    code = "too_large"
    status = 413


class StrictJSONParser(BaseParser):
    """JSON objects in UTF-8: no NaN, no repeated keys, no NUL, no lone surrogates, bounded in size and depth."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        data = stream.read(limit + 1)
        if len(data) > limit:
            raise TooLarge(f"at most {limit} bytes")
        return strict_json.loads(data)
