"""The client of Kindex, with the standard library alone. README.md has a tour."""

from .aio import AsyncKindex
from .client import Atomic, By, Change, Commit, Entry, Kindex, connect
from .error import KindexError
from .json_text import BigInt, KvU64, Typed
from .values import Key, KeyPart, Map, Media

__all__ = [
    "AsyncKindex",
    "Atomic",
    "BigInt",
    "By",
    "Change",
    "Commit",
    "Entry",
    "Key",
    "KeyPart",
    "Kindex",
    "KindexError",
    "KvU64",
    "Map",
    "Media",
    "Typed",
    "connect",
]
