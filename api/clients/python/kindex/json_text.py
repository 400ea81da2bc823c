"""JSON text in which numbers keep their value: what neither an int nor a float is
exactly becomes a Typed with its text, and is written as it was."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Union

_string = json.JSONEncoder().encode


class BigInt(int):
    """A JavaScript bigint. As part of a key it differs from the number."""


class KvU64(int):
    """The 64-bit counter of Deno KV: ``sum`` wraps around at 2**64."""


@dataclass(frozen=True)
class Typed:
    """A value without a Python type, such as a RegExp, as the service writes it.
    ``members`` has what it writes beside ``type`` and ``value``. Stored again, the
    value is unchanged. Type ``number`` with a JSON number as a text is that number."""

    type: str
    value: Any = None
    members: dict[str, Any] = field(default_factory=dict, hash=False)


def _integer(text: str) -> Union[int, float]:
    return -0.0 if text == "-0" else int(text)


def same_decimal(text: str, number: float) -> bool:
    """True if the number, as Python writes it, has the decimal value of the text."""
    if repr(number) == text:
        return True
    if not math.isfinite(number):
        return False
    if number == 0:
        return not any(digit in "123456789" for digit in text.lower().split("e")[0])
    return Decimal(text) == Decimal(repr(number))


def _real(text: str) -> Union[float, Typed]:
    number = float(text)
    return number if same_decimal(text, number) else Typed("number", text)


def read_json(text: Union[str, bytes]) -> Any:
    """Raises a ValueError for text that is not JSON."""
    return json.loads(text, parse_int=_integer, parse_float=_real)


def number_text(value: Typed) -> str:
    """The text of a Typed that is a JSON number; otherwise empty."""
    if value.type != "number" or not isinstance(value.value, str) or value.members:
        return ""
    text = value.value
    try:
        found = read_json(text)
    except ValueError:
        return ""
    is_number = isinstance(found, (int, float, Typed)) and not isinstance(found, bool)
    return text if is_number and (text[0] == "-" or text[0].isdigit()) else ""


def write_json(value: object, path: str = "") -> str:
    """Raises a TypeError, with the path, for a value that JSON cannot carry."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int) and not isinstance(value, (BigInt, KvU64)):
        return int.__repr__(value)
    if isinstance(value, float) and math.isfinite(value):
        return float.__repr__(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(write_json(e, f"{path}/{i}") for i, e in enumerate(value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(_member(n, m, path) for n, m in value.items()) + "}"
    text = number_text(value) if isinstance(value, Typed) else ""
    if text == "":
        raise TypeError(f"{value!r} at {path!r} is not JSON")
    return text


def _member(name: object, member: object, path: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name {name!r} at {path!r} is not a str")
    return _string(name) + ":" + write_json(member, f"{path}/{name}")
