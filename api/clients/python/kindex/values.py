"""Keys and values as JSON has them: what JSON lacks is written in the form of Deno's
kv-utils, ``{"type": ..., "value": ...}`` (openapi.yaml, schema Typed)."""

from __future__ import annotations

import base64
import math
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Iterable, Sequence, Union

from .json_text import BigInt, KvU64, Typed, number_text, same_decimal

JSON = dict[str, Any]


class Media(bytes):
    """Bytes with a media type, as a whole value."""

    media_type: str

    def __new__(cls, data: bytes, media_type: str = "application/octet-stream") -> Media:
        media = super().__new__(cls, data)
        media.media_type = media_type
        return media


class Map(dict[Any, Any]):
    """A JavaScript Map. A plain dict is one only if a key is not a str."""


class _StoredSet(set[Any]):
    """A set that was read: it is written in the order that it had."""

    _order: Sequence[Any] = ()

    def __init__(self, elements: Sequence[Any]) -> None:
        super().__init__(elements)
        self._order = elements

    def in_order(self) -> list[Any]:
        kept = [element for element in self._order if element in self]
        return kept + list(self.difference(kept))


KeyPart = Union[str, int, float, bool, bytes, BigInt]
Key = Sequence[KeyPart]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DATE_SIZE = len("2023-04-23T00:00:00.123Z")


def _to_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_base64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _is_utf8(text: str) -> bool:
    """False for half a surrogate pair, which JSON cannot carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_json(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, str):
        return _is_utf8(value)
    if isinstance(value, int):
        return not isinstance(value, (BigInt, KvU64))
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, (list, tuple)):
        return all(map(_is_json, value))
    if isinstance(value, Typed):
        return number_text(value) != ""
    if isinstance(value, dict) and not isinstance(value, Map):
        return all(
            isinstance(name, str) and _is_json(member) for name, member in value.items()
        )
    return False


# ---- To the typed form -------------------------------------------------------------


def _inexact(number: object, path: str) -> ValueError:
    return ValueError(
        f"the number {number} at {path!r} would lose digits, since a key, and a value "
        "that JSON cannot carry, has the numbers of JavaScript: a BigInt does not"
    )


def _check_exact(number: int, path: str) -> None:
    try:
        exact = int(float(number)) == number
    except OverflowError:
        exact = False
    if not exact:
        raise _inexact(number, path)




def _check_wire(value: object, path: str) -> None:
    """What a Typed has is written as it is, but its numbers become doubles too."""
    if isinstance(value, dict):
        for name, member in value.items():
            _check_wire(member, f"{path}/{name}")
    elif isinstance(value, list):
        for i, element in enumerate(value):
            _check_wire(element, f"{path}/{i}")
    elif isinstance(value, int) and not isinstance(value, bool):
        try:
            double = float(value)
        except OverflowError:
            double = math.inf
        if not same_decimal(str(value), double):
            _check_exact(value, path)


def _number_to_typed(value: Union[int, float], path: str) -> JSON:
    if isinstance(value, int):
        _check_exact(value, path)
    elif math.isnan(value):
        return {"type": "number", "value": "NaN"}
    elif math.isinf(value):
        return {"type": "number", "value": "Infinity" if value > 0 else "-Infinity"}
    return {"type": "number", "value": value}


def _string_to_typed(text: str) -> JSON:
    if _is_utf8(text):
        return {"type": "string", "value": text}
    units = text.encode("utf-16-le", "surrogatepass")
    shown = units.decode("utf-16-le", "replace")
    return {"type": "string", "value": shown, "utf16": _to_base64(units)}


def _bytes_to_typed(value: Union[bytes, bytearray, memoryview], path: str) -> JSON:
    typed = {"type": "Uint8Array", "value": _to_base64(bytes(value))}
    if isinstance(value, Media):
        if path != "":
            raise ValueError(f"the Media at {path!r} is not a whole value: store bytes")
        typed["mediaType"] = value.media_type
    return typed


def _date_to_typed(value: datetime, path: str) -> JSON:
    if value.tzinfo is None:
        raise TypeError(f"the datetime at {path!r} needs a time zone")
    utc = value.astimezone(timezone.utc).replace(tzinfo=None)
    return {"type": "Date", "value": utc.isoformat(timespec="milliseconds") + "Z"}


def _own_typed(value: Typed, path: str) -> JSON:
    text = number_text(value)
    if text != "" and not same_decimal(text, float(text)):
        raise _inexact(text, path)
    if text == "":
        _check_wire(value.value, path)
    # A Typed stays one, so that its text is written as the number that it is.
    wire = value if text != "" else value.value
    return {"type": value.type, "value": wire, **value.members}


def _typed_list(values: Iterable[object], path: str) -> list[JSON]:
    return [_to_typed(value, f"{path}/{i}") for i, value in enumerate(values)]


def _dict_to_typed(value: dict[Any, Any], path: str) -> JSON:
    if isinstance(value, Map) or not all(isinstance(name, str) for name in value):
        pairs = [_typed_list(pair, f"{path}/{i}") for i, pair in enumerate(value.items())]
        return {"type": "Map", "value": pairs}
    members = {name: _to_typed(member, f"{path}/{name}") for name, member in value.items()}
    return {"type": "object", "value": members}


def _to_typed(value: object, path: str = "") -> JSON:
    if value is None:
        return {"type": "null", "value": None}
    if isinstance(value, bool):
        return {"type": "boolean", "value": value}
    if isinstance(value, str):
        return _string_to_typed(value)
    if isinstance(value, (BigInt, KvU64)):
        kind = "bigint" if isinstance(value, BigInt) else "KvU64"
        return {"type": kind, "value": str(int(value))}
    if isinstance(value, (int, float)):
        return _number_to_typed(value, path)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes_to_typed(value, path)
    if isinstance(value, datetime):
        return _date_to_typed(value, path)
    if isinstance(value, (list, tuple)):
        return {"type": "Array", "value": _typed_list(value, path)}
    if isinstance(value, (set, frozenset)):
        elements = value.in_order() if isinstance(value, _StoredSet) else value
        return {"type": "Set", "value": _typed_list(elements, path)}
    if isinstance(value, Typed):
        return _own_typed(value, path)
    if isinstance(value, dict):
        return _dict_to_typed(value, path)
    raise TypeError(f"the {type(value).__name__} at {path!r} cannot be stored")


# ---- From the typed form -----------------------------------------------------------
# Each raises a ValueError or TypeError for what Python has no value for that would be
# written back unchanged.


def _only(typed: JSON, *names: str) -> Any:
    """The member value, if there are no others that it would lose."""
    if not set(typed) <= {"type", "value", *names}:
        raise ValueError("it has other members")
    return typed["value"]


def _plain(typed: JSON) -> Any:
    return _only(typed)


def _string(typed: JSON) -> str:
    value: str = _only(typed, "utf16")
    if "utf16" not in typed:
        return value
    return _from_base64(typed["utf16"]).decode("utf-16-le", "surrogatepass")


def _number(typed: JSON) -> Union[int, float]:
    value = _only(typed)
    return float(value) if isinstance(value, str) else from_double(value)


def _bytes(typed: JSON) -> bytes:
    data = _from_base64(_only(typed, "byteLength", "mediaType"))
    return Media(data, typed["mediaType"]) if "mediaType" in typed else data


def _date(typed: JSON) -> datetime:
    text: str = _only(typed)
    if len(text) != _DATE_SIZE:
        raise ValueError("not a year of four digits")
    return datetime.fromisoformat(text[:-1]).replace(tzinfo=timezone.utc)


def _set(typed: JSON) -> set[Any]:
    elements = [_from_typed(element) for element in _only(typed)]
    found = _StoredSet(elements)
    if len(found) != len(elements):
        raise ValueError("elements are equal in Python")
    return found


def _map(typed: JSON) -> Map:
    pairs = [(_from_typed(name), _from_typed(member)) for name, member in _only(typed)]
    found = Map(pairs)
    if len(found) != len(pairs):
        raise ValueError("keys are equal in Python")
    return found


_READERS: dict[str, Callable[[JSON], Any]] = {
    "null": _plain,
    "boolean": _plain,
    "string": _string,
    "number": _number,
    "bigint": lambda typed: BigInt(_only(typed)),
    "KvU64": lambda typed: KvU64(_only(typed)),
    "Uint8Array": _bytes,
    "Date": _date,
    "Array": lambda typed: [_from_typed(element) for element in _only(typed)],
    "object": lambda typed: {n: _from_typed(m) for n, m in _only(typed).items()},
    "Set": _set,
    "Map": _map,
}


def _from_typed(typed: JSON) -> Any:
    """Never fails: a Typed stands for what Python has no value for."""
    try:
        return _READERS[typed["type"]](typed)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        rest = {n: m for n, m in typed.items() if n not in ("type", "value")}
        return Typed(typed["type"], typed.get("value"), rest)


def from_double(number: Union[int, float]) -> Union[int, float]:
    """A number that the service holds as a double, from the digits that JavaScript
    writes for it: 1152921504606847000 is 2**60. A whole number is an int."""
    double = float(number)
    return int(double) if double.is_integer() else double


# ---- Values and keys of requests and answers ---------------------------------------


def to_stored(value: object) -> JSON:
    """The member of a request that has a value."""
    return {"value": value} if _is_json(value) else {"typed": _to_typed(value)}


def to_operand(value: object) -> Any:
    """A value where only one is asked for: a bound, or what is compared."""
    return value if _is_json(value) else _to_typed(value)


def from_stored(stored: JSON) -> Any:
    """The value of an entry of an answer; None without an entry."""
    return _from_typed(stored["typed"]) if "typed" in stored else stored.get("value")


def to_fields(values: Key) -> list[Any]:
    """Values of an index's fields as requests have them: its numbers are doubles,
    and so are found by the digits that an entry has."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"a key is a tuple or list of parts, such as ({values!r},)")
    return [to_operand(part) for part in values]


def to_key(key: Key) -> list[Any]:
    """A key as requests have it. An int that a double does not hold is refused: the
    service would take it for the key of another entry."""
    for i, part in enumerate(key):
        if isinstance(part, int) and not isinstance(part, BigInt):
            _check_exact(part, f"/{i}")
    return [_signed(part, wire) for part, wire in zip(key, to_fields(key))]


def _signed(part: object, wire: Any) -> Any:
    """In keys, unlike in values, a NaN with a sign is not the one without."""
    if isinstance(part, float) and math.isnan(part) and math.copysign(1, part) < 0:
        return {"type": "number", "value": "-NaN"}
    return wire


def from_key(key: Iterable[Any]) -> tuple[KeyPart, ...]:
    """A key of an answer."""
    return tuple(map(_from_part, key))


def _from_part(part: Any) -> Any:
    if isinstance(part, dict):
        return _from_typed(part)
    is_number = isinstance(part, (int, float)) and not isinstance(part, bool)
    return from_double(part) if is_number else part


def to_milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def from_milliseconds(milliseconds: int) -> datetime:
    """Times beyond the year 9999 are its end: a datetime cannot be later."""
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=timezone.utc)
