"""One finding of a check."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class Finding(msgspec.Struct, frozen=True):
    """`path` names the state or transition (`ask#2`: the second one of state ask) it is about."""

    rule: str
    severity: Literal["error", "warning"]
    path: Annotated[str, Meta(description="the state, or the transition as `state#number`")]
    sentence: str
