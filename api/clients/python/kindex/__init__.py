"""The client of Kindex, with the standard library alone. README.md has a tour."""

from .aio import AsyncKindex, AsyncTransaction
from .client import (
    Aggregate,
    Atomic,
    BulkEntry,
    By,
    Change,
    Child,
    Commit,
    Entry,
    IndexChange,
    Kindex,
    Range,
    Transaction,
    connect,
)
from .error import KindexError
from .json_text import BigInt, KvU64, Typed
from .queue import Job, Queue
from .testing import kindex_for_tests
from .values import Key, KeyPart, Map, Media

__all__ = [
    "Aggregate",
    "AsyncKindex",
    "AsyncTransaction",
    "Atomic",
    "BigInt",
    "BulkEntry",
    "By",
    "Change",
    "Child",
    "Commit",
    "Entry",
    "IndexChange",
    "Job",
    "Key",
    "KeyPart",
    "Kindex",
    "KindexError",
    "KvU64",
    "Map",
    "Media",
    "Queue",
    "Range",
    "Transaction",
    "Typed",
    "connect",
    "kindex_for_tests",
]
