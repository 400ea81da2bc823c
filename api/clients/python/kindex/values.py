"""Keys and values as JSON has them: what JSON lacks is written in the form of Deno's
kv-utils, ``{"type": ..., "value": ...}`` (openapi.yaml, schema Typed)."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Iterable, Sequence, Union

JSON = dict[str, Any]


class BigInt(int):
    """A JavaScript bigint. As part of a key it differs from the number. A plain int
    is a number: in a value exact, in a key only if a double can hold it."""


class KvU64(int):
    """The 64-bit counter of Deno KV: ``sum`` wraps around at 2**64."""


@dataclass(frozen=True)
class Typed:
    """A value without a Python type, such as a RegExp, as the service writes it."""

    type: str
    value: Any


KeyPart = Union[str, int, float, bool, bytes, BigInt]
Key = Sequence[KeyPart]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _to_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_base64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _is_json(value: object) -> bool:
    if value is None or isinstance(value, (str, bool)):
        return True
    if isinstance(value, int):
        return not isinstance(value, (BigInt, KvU64))
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, (list, tuple)):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(
            isinstance(name, str) and _is_json(member) for name, member in value.items()
        )
    return False


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _date_text(value: datetime) -> str:
    if value.tzinfo is None:
        raise TypeError("a datetime needs a time zone")
    utc = value.astimezone(timezone.utc)
    return utc.strftime("%Y-%m-%dT%H:%M:%S.") + f"{utc.microsecond // 1000:03}Z"


def _typed_list(values: Iterable[object]) -> list[JSON]:
    return [_to_typed(value) for value in values]


def _to_typed(value: object) -> JSON:
    if value is None:
        return {"type": "null", "value": None}
    if isinstance(value, bool):
        return {"type": "boolean", "value": value}
    if isinstance(value, str):
        return {"type": "string", "value": value}
    if isinstance(value, (BigInt, KvU64)):
        kind = "bigint" if isinstance(value, BigInt) else "KvU64"
        return {"type": kind, "value": str(int(value))}
    if isinstance(value, int):
        return {"type": "number", "value": value}
    if isinstance(value, float):
        finite = math.isfinite(value)
        return {"type": "number", "value": value if finite else _float_text(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"type": "Uint8Array", "value": _to_base64(bytes(value))}
    if isinstance(value, datetime):
        return {"type": "Date", "value": _date_text(value)}
    if isinstance(value, (list, tuple)):
        return {"type": "Array", "value": _typed_list(value)}
    if isinstance(value, (set, frozenset)):
        return {"type": "Set", "value": _typed_list(value)}
    if isinstance(value, Typed):
        return {"type": value.type, "value": value.value}
    if isinstance(value, dict):
        if all(isinstance(name, str) for name in value):
            members = {name: _to_typed(member) for name, member in value.items()}
            return {"type": "object", "value": members}
        return {"type": "Map", "value": [_typed_list(pair) for pair in value.items()]}
    raise TypeError(f"a {type(value).__name__} cannot be stored")


def _from_typed(typed: JSON) -> Any:
    kind: str = typed["type"]
    value: Any = typed.get("value")
    if kind in ("string", "boolean", "null"):
        return value
    if kind == "number":
        return float(value) if isinstance(value, str) else value
    if kind == "bigint":
        return BigInt(value)
    if kind == "KvU64":
        return KvU64(value)
    if kind == "Uint8Array":
        return _from_base64(value)
    if kind == "Date" and value != "Invalid Date":
        seconds, millis = value.rstrip("Z").split(".")
        if len(seconds) == 19:  # years of four digits
            moment = datetime.fromisoformat(seconds).replace(tzinfo=timezone.utc)
            return moment + timedelta(milliseconds=int(millis))
    if kind == "Array":
        return [_from_typed(element) for element in value]
    if kind == "Set":
        return {_from_typed(element) for element in value}
    if kind == "Map":
        return {_from_typed(name): _from_typed(member) for name, member in value}
    if kind == "object":
        return {name: _from_typed(member) for name, member in value.items()}
    if kind in ("undefined", "hole"):
        return None
    return Typed(kind, value)


def to_stored(value: object) -> JSON:
    """The member of a request that has a value."""
    return {"value": value} if _is_json(value) else {"typed": _to_typed(value)}


def to_operand(value: object) -> Any:
    """A value where only one is asked for: a bound, or what is compared."""
    return value if _is_json(value) else _to_typed(value)


def from_stored(stored: JSON) -> Any:
    """The value of an entry of an answer; None without an entry."""
    return _from_typed(stored["typed"]) if "typed" in stored else stored.get("value")


def to_key(key: Key) -> list[Any]:
    """A key as requests have it."""
    if isinstance(key, (str, bytes)):
        raise TypeError(f"a key is a tuple or list of parts, such as ({key!r},)")
    return [to_operand(part) for part in key]


def from_key(key: Iterable[Any]) -> tuple[KeyPart, ...]:
    """A key of an answer."""
    return tuple(_from_typed(part) if isinstance(part, dict) else part for part in key)


def to_milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def from_milliseconds(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)
