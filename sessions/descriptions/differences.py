"""How a request differs from what the customer said, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sessions.descriptions.values import plain, value
from sessions.text import money


def difference(each: Mapping[str, Any], named: Mapping[str, str]) -> str:
    """One difference as `sessions.approvals.differences.as_data` gives it. `named` are accounts by id, in short."""
    sends = _shown(each["sends"], named)
    said = " and ".join(dict.fromkeys(_shown(one["value"], named) for one in each["said"]))
    match each["kind"]:
        case "changed":
            name = _name(each["path"])
            return f"You change {name} from {_shown(each['was'], named)} to {sends}."
        case "differs":
            return f"Said {said}, sends {sends}."
        case "corrected":
            return f"Said {sends}, later {said}; sends {sends}."
        case "ambiguous":
            return f"Said {sends} and also {said}; sends {sends}."
        case _:
            if money.is_money(each["sends"]):
                return f"No amount was found in the customer's words, sends {sends}."
            return f"{sends} was not found in the customer's words."


def _name(path: str) -> str:
    parts = [part for part in path.split(".") if not part.isdigit()]
    return f"the {plain(parts[-1]).lower()}"


def _shown(given: object, named: Mapping[str, str]) -> str:
    return named.get(given, given) if isinstance(given, str) else value(given)
