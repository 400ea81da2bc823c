"""The same for asyncio: each call runs in a thread of the default executor. A call
that is cancelled ends there; whether it was carried out is then not known."""

from __future__ import annotations

import asyncio
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Optional,
    Sequence,
    TypeVar,
)

from .client import (
    Aggregate,
    Atomic,
    BulkEntry,
    Change,
    Child,
    Commit,
    Entry,
    IndexChange,
    Kindex,
    Range,
    TRIES,
    Transaction,
    _pauses,
)
from .queue import Names, Queue
from .values import JSON, Key, KeyPart

T = TypeVar("T")
_END = object()


async def _step(iterator: Iterator[T]) -> Any:
    return await asyncio.to_thread(lambda: next(iterator, _END))


async def _iterate(iterator: Iterator[T]) -> AsyncIterator[T]:
    try:
        while (item := await _step(iterator)) is not _END:
            yield item
    finally:
        if isinstance(iterator, Generator):
            iterator.close()


class AsyncTransaction:
    """As Transaction; reads are awaited, and writes are not."""

    def __init__(self, sync: Transaction) -> None:
        self._sync = sync
        self.set = sync.set
        self.delete = sync.delete
        self.patch = sync.patch
        self.operations = sync.operations
        self.sum = sync.sum
        self.min = sync.min
        self.max = sync.max
        self.touch = sync.touch

    async def get(self, key: Key, **options: Any) -> Entry:
        return await asyncio.to_thread(self._sync.get, key, **options)

    async def get_many(self, keys: Sequence[Key], **options: Any) -> list[Entry]:
        return await asyncio.to_thread(self._sync.get_many, keys, **options)

    def list(self, prefix: Optional[Key] = None, **options: Any) -> AsyncIterator[Entry]:
        return _iterate(self._sync.list(prefix, **options))


class AsyncKindex:
    """Parameters are those of Kindex."""

    def __init__(self, url: str, **options: Any) -> None:
        self._sync = Kindex(url, **options)

    async def close(self) -> None:
        await asyncio.to_thread(self._sync.close)

    async def __aenter__(self) -> AsyncKindex:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def get(self, key: Key, **options: Any) -> Entry:
        return await asyncio.to_thread(self._sync.get, key, **options)

    async def get_many(self, keys: Sequence[Key], **options: Any) -> list[Entry]:
        return await asyncio.to_thread(self._sync.get_many, keys, **options)

    async def put(self, key: Key, value: object, **options: Any) -> Optional[str]:
        return await asyncio.to_thread(self._sync.put, key, value, **options)

    async def patch(self, key: Key, patch: object, **options: Any) -> Optional[str]:
        return await asyncio.to_thread(self._sync.patch, key, patch, **options)

    async def add(self, prefix: Key, value: object, **options: Any) -> Entry:
        return await asyncio.to_thread(self._sync.add, prefix, value, **options)

    async def delete(self, key: Key) -> Optional[Entry]:
        return await asyncio.to_thread(self._sync.delete, key)

    def queue(self, name: str) -> Queue:
        """Its methods block: call them by ``asyncio.to_thread``."""
        return self._sync.queue(name)

    async def queues(self) -> Names:
        return await asyncio.to_thread(self._sync.queues)

    async def transaction(
        self, work: Callable[[AsyncTransaction], Awaitable[T]], *, tries: int = TRIES
    ) -> T:
        for pause in _pauses(tries):
            transaction = Transaction(self._sync)
            result = await work(AsyncTransaction(transaction))
            if await asyncio.to_thread(transaction._commit, pause is None):
                return result
            await asyncio.sleep(pause or 0.0)
        raise AssertionError("not reached")

    def atomic(self) -> Atomic:
        """To be given to ``commit``."""
        return self._sync.atomic()

    async def commit(self, atomic: Atomic) -> Commit:
        return await asyncio.to_thread(atomic.commit)

    def list(self, prefix: Optional[Key] = None, **options: Any) -> AsyncIterator[Entry]:
        return _iterate(self._sync.list(prefix, **options))

    def list_ranges(self, ranges: Sequence[Range], **options: Any) -> AsyncIterator[Entry]:
        return _iterate(self._sync.list_ranges(ranges, **options))

    def children(self, prefix: Optional[Key] = None, **options: Any) -> AsyncIterator[Child]:
        return _iterate(self._sync.children(prefix, **options))

    async def count(self, prefix: Optional[Key] = None, **options: Any) -> int:
        return await asyncio.to_thread(self._sync.count, prefix, **options)

    async def aggregate(
        self, index: str, prefix: Optional[Key] = None, **options: Any
    ) -> Aggregate:
        return await asyncio.to_thread(self._sync.aggregate, index, prefix, **options)

    async def explain(self, prefix: Key, **options: Any) -> JSON:
        return await asyncio.to_thread(self._sync.explain, prefix, **options)

    async def bulk(self, entries: Iterable[BulkEntry]) -> int:
        return await asyncio.to_thread(self._sync.bulk, entries)

    async def delete_range(self, prefix: Optional[Key] = None, **options: Any) -> int:
        return await asyncio.to_thread(self._sync.delete_range, prefix, **options)

    async def patch_range(self, prefix: Optional[Key] = None, **options: Any) -> int:
        return await asyncio.to_thread(self._sync.patch_range, prefix, **options)

    async def get_by_index(self, index: str, *values: KeyPart) -> Optional[Entry]:
        return await asyncio.to_thread(self._sync.get_by_index, index, *values)

    async def put_by_index(
        self, index: str, values: Key, value: object, **options: Any
    ) -> str:
        return await asyncio.to_thread(
            self._sync.put_by_index, index, values, value, **options
        )

    async def declare_index(
        self, name: str, prefix: Key, fields: Sequence[Any] = (), **members: object
    ) -> JSON:
        return await asyncio.to_thread(
            self._sync.declare_index, name, prefix, fields, **members
        )

    async def apply_indexes(
        self, declarations: dict[str, JSON], **options: Any
    ) -> dict[str, JSON]:
        return await asyncio.to_thread(self._sync.apply_indexes, declarations, **options)

    async def plan_indexes(
        self, declarations: dict[str, JSON], **options: Any
    ) -> Sequence[JSON]:
        return await asyncio.to_thread(self._sync.plan_indexes, declarations, **options)

    async def migrate_index(self, name: str, **changes: object) -> JSON:
        return await asyncio.to_thread(self._sync.migrate_index, name, **changes)

    async def list_indexes(self) -> Sequence[JSON]:
        return await asyncio.to_thread(self._sync.list_indexes)

    async def get_index(self, name: str) -> JSON:
        return await asyncio.to_thread(self._sync.get_index, name)

    async def drop_index(self, name: str) -> None:
        await asyncio.to_thread(self._sync.drop_index, name)

    def watch(self, keys: Sequence[Key]) -> AsyncIterator[Change]:
        return _iterate(self._sync.watch(keys))

    def watch_prefix(self, prefix: Key) -> AsyncIterator[Change]:
        return _iterate(self._sync.watch_prefix(prefix))

    def watch_index(self, index: str, **options: Any) -> AsyncIterator[IndexChange]:
        return _iterate(self._sync.watch_index(index, **options))
