"""The client of Kindex, with the standard library alone. README.md has a tour."""

from .aio import AsyncKindex
from .client import Atomic, By, Change, Commit, Entry, Kindex, connect
from .error import KindexError
from .values import BigInt, Key, KeyPart, KvU64, Typed

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
    "Typed",
    "connect",
]
