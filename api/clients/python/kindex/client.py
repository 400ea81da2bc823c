from __future__ import annotations

import http.client
import random
import ssl
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Sequence, TypeVar, Union
from urllib.parse import quote, urlencode

from .error import KindexError
from .http import ANSWER_BYTES_MAX, Answer, Query, Request, Token, Transport
from .json_text import Typed, read_json, write_json
from .queue import Names, Queue, Receipts, receipts_of
from .values import (
    JSON,
    Key,
    KeyPart,
    from_key,
    from_milliseconds,
    from_stored,
    to_fields,
    to_key,
    to_milliseconds,
    to_operand,
    to_stored,
)

#: How long one request waits for an index; less than the silence that ends a request.
WAIT_S = 30
RECONNECT_S = 2.0
#: Of the text of one request of ``bulk``, unless one line is longer.
BULK_CHARS = 1 << 20
#: How often the work of a transaction is done at most, unless it is given.
TRIES = 10
FIRST_PAUSE_S = 0.01
LONGEST_PAUSE_S = 1.0
#: Entries of a page.
PAGE_MAX = 1000
TYPED = "application/vnd.kindex.typed+json"


@dataclass(frozen=True)
class Entry:
    """Without an entry, ``value`` and ``versionstamp`` are None."""

    key: tuple[KeyPart, ...]
    value: Any
    versionstamp: Optional[str]
    expires_at: Optional[datetime] = None
    #: In an index of changes: the entry was removed.
    deleted: bool = False
    #: Of a read with ``expand``: the entry to which the value refers at each path.
    expanded: Optional[dict[str, Optional[Entry]]] = None


@dataclass(frozen=True)
class By:
    """An entry by its value in a unique index, in place of its key."""

    index: str
    value: Key


class Change(NamedTuple):
    """What has changed; after a reset anything may have: list it."""

    reset: bool
    entries: list[Entry]


class IndexChange(NamedTuple):
    """Entries of one commit; take them up when ``since``, the next position, comes."""

    entries: list[Entry]
    since: Optional[str]


class Child(NamedTuple):
    """The next part of keys under a prefix. ``entry``: there is an entry with this very
    key. ``below``: how many have longer keys, estimated unless ``exact``; None: unknown,
    but many."""

    key: tuple[KeyPart, ...]
    entry: bool
    below: Optional[int]
    exact: bool


@dataclass(frozen=True)
class Aggregate:
    """The totals of groups; sums are exact, as decimal text."""

    count: int
    sum: dict[str, str]
    groups: int
    left_out: Optional[int] = None
    """Entries that meet the index's conditions and are in no group; None: unknown."""


@dataclass(frozen=True)
class BulkEntry:
    key: Key
    value: object
    ttl: Optional[str] = None
    expires_at: Optional[datetime] = None


@dataclass(frozen=True)
class Range:
    """A range of ``list_ranges``: with ``index`` its bounds are values of its fields."""

    prefix: Optional[Key] = None
    start: Optional[Key] = None
    end: Optional[Key] = None
    index: Optional[str] = None
    reverse: bool = False


@dataclass(frozen=True)
class Commit:
    """``results`` has one for each mutation, None where nothing was asked for."""

    ok: bool
    versionstamp: Optional[str]
    results: list[Optional[Entry]]
    failed_checks: list[JSON]


class _Unchecked:
    pass


UNCHECKED = _Unchecked()
T = TypeVar("T")
Version = Union[str, None, _Unchecked]
Summand = Union[int, float, Typed]


def _entry(wire: JSON) -> Entry:
    expires = wire.get("expiresAt")
    expanded = wire.get("expanded")
    referred = {path: one and _entry(one) for path, one in (expanded or {}).items()}
    return Entry(
        from_key(wire["key"]),
        from_stored(wire),
        wire["versionstamp"],
        None if expires is None else from_milliseconds(expires),
        wire.get("deleted", False),
        None if expanded is None else referred,
    )


def _text(key: Optional[Key], index: Optional[str] = None) -> Optional[str]:
    """A parameter: a key, or values of the fields of an index."""
    if key is None:
        return None
    return write_json(to_key(key) if index is None else to_fields(key))


def _selection(
    prefix: Optional[Key], start: Optional[Key], end: Optional[Key], index: Optional[str]
) -> Query:
    return {
        "prefix": _text(prefix, index),
        "start": _text(start, index),
        "end": _text(end, index),
        "index": index,
    }


def _range(selected: Range) -> JSON:
    part = to_key if selected.index is None else to_fields
    bounds = {"prefix": selected.prefix, "start": selected.start, "end": selected.end}
    members: JSON = {name: part(key) for name, key in bounds.items() if key is not None}
    if selected.index is not None:
        members["index"] = selected.index
    if selected.reverse:
        members["reverse"] = True
    return members


def _fields(fields: Optional[Sequence[str]]) -> Optional[list[str]]:
    if isinstance(fields, str):
        raise TypeError(f"fields is a list of JSON Pointers, such as [{fields!r}]")
    return None if fields is None else list(fields)


def _where(conditions: Union[JSON, Sequence[JSON]]) -> list[JSON]:
    """Conditions with what is compared as requests have it."""
    many = [conditions] if isinstance(conditions, dict) else conditions
    return [
        {
            name: [to_operand(one) for one in value] if name == "in" else to_operand(value)
            for name, value in condition.items()
        }
        for condition in many
    ]


def _value_body(value: object) -> tuple[str, dict[str, str]]:
    stored = to_stored(value)
    if "typed" in stored:
        return write_json(stored["typed"]), {"Content-Type": TYPED}
    return write_json(stored["value"]), {}


def _path(index: str) -> str:
    return f"/indexes/{quote(index, safe='')}"


def _declaration(declared: JSON) -> JSON:
    """A declaration as requests have it; keys in it are tuples."""
    body: JSON = {**declared, "prefix": to_key(declared["prefix"])}
    if "dead" in body.get("queue", {}):
        body["queue"] = {**body["queue"], "dead": to_key(body["queue"]["dead"])}
    return body


def _rule_path(rule: str) -> str:
    return f"/rules/{quote(rule, safe='')}"


def _rule_body(rule: JSON) -> str:
    """A rule as requests have it; keys in it are tuples."""
    body: JSON = {**rule, "prefix": to_key(rule["prefix"])}
    if "references" in body:
        body["references"] = [{**one, "to": to_key(one["to"])} for one in body["references"]]
    return write_json(body)


def _rule(wire: JSON) -> JSON:
    rule: JSON = {**wire, "prefix": from_key(wire["prefix"])}
    if "references" in rule:
        rule["references"] = [{**one, "to": from_key(one["to"])} for one in rule["references"]]
    return rule


def _violation(wire: JSON) -> JSON:
    return {**wire, "key": from_key(wire["key"])}


def _bulk_end(answer: Answer) -> JSON:
    """The last line. Without it the answer was cut off."""
    lines = answer.body.splitlines()
    end: JSON = read_json(lines[-1]) if lines else {}
    if "end" not in end and "error" not in end:
        raise KindexError(answer.status, {"detail": "the answer of bulk has no last line"})
    return end


def _target(of: Union[Key, By]) -> JSON:
    if isinstance(of, By):
        return {"by": {"index": of.index, "value": to_fields(of.value)}}
    return {"key": to_key(of)}


def _times(ttl: Optional[str], expires_at: Optional[datetime]) -> JSON:
    members: JSON = {}
    if ttl is not None:
        members["ttl"] = ttl
    if expires_at is not None:
        members["expiresAt"] = to_milliseconds(expires_at)
    return members


class Atomic:
    """Checks and mutations that are done together, or not at all."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._checks: list[JSON] = []
        self._mutations: list[JSON] = []
        self._acks: list[str] = []

    def ack(self, of: Receipts) -> Atomic:
        """Acknowledges jobs of queues in this commit."""
        self._acks += receipts_of(of)
        return self

    def check(self, of: Union[Key, By], versionstamp: Optional[str]) -> Atomic:
        """None: only if there is no entry."""
        self._checks.append({**_target(of), "versionstamp": versionstamp})
        return self

    def check_exists(self, of: Union[Key, By], exists: bool = True) -> Atomic:
        self._checks.append({**_target(of), "exists": exists})
        return self

    def check_at_most(self, of: Union[Key, By], versionstamp: str) -> Atomic:
        """Only if the entry has at most this version, or there is none."""
        self._checks.append({**_target(of), "atMost": versionstamp})
        return self

    def check_where(self, of: Union[Key, By], path: str, **comparisons: object) -> Atomic:
        """Comparisons are eq, ne, gt, ge, lt, le, exists and in_."""
        where: JSON = {"path": path, **comparisons}
        if "in_" in where:
            where["in"] = where.pop("in_")
        self._checks.append({**_target(of), "where": _where(where)[0]})
        return self

    def check_none(self, prefix: Key) -> Atomic:
        """Only if no entry is under the prefix."""
        self._checks.append({"prefix": to_key(prefix), "none": True})
        return self

    def check_prefix_at_most(self, prefix: Key, versionstamp: str) -> Atomic:
        """Only if no entry under the prefix has a newer version."""
        self._checks.append({"prefix": to_key(prefix), "atMost": versionstamp})
        return self

    def _add(
        self,
        kind: str,
        of: Union[Key, By],
        members: JSON,
        ttl: Optional[str],
        expires_at: Optional[datetime],
        ttl_of: Optional[str],
        returns: Optional[str],
        **options: object,
    ) -> Atomic:
        mutation: JSON = {"type": kind, **_target(of), **members, **_times(ttl, expires_at)}
        options = {"ttlOf": ttl_of, "return": returns, **options}
        mutation.update({name: given for name, given in options.items() if given is not None})
        self._mutations.append(mutation)
        return self

    def set(
        self,
        of: Union[Key, By],
        value: object,
        *,
        ttl: Optional[str] = None,
        expires_at: Optional[datetime] = None,
        ttl_of: Optional[str] = None,
        returns: Optional[str] = None,
        suffix: Optional[str] = None,
    ) -> Atomic:
        """``returns`` is "old" or "new": the entry is in the results. ``ttl_of`` is
        "always", "new" or "keep": which entries get the time. ``suffix="versionstamp"``
        adds that of the commit to the key as one more part."""
        return self._add(
            "set", of, to_stored(value), ttl, expires_at, ttl_of, returns, suffix=suffix
        )

    def delete(self, of: Union[Key, By], *, returns: Optional[str] = None) -> Atomic:
        return self._add("delete", of, {}, None, None, None, returns)

    def patch(
        self,
        of: Union[Key, By],
        patch: object,
        *,
        ttl: Optional[str] = None,
        expires_at: Optional[datetime] = None,
        ttl_of: Optional[str] = None,
        returns: Optional[str] = None,
    ) -> Atomic:
        """A merge patch (RFC 7396): members replace members, None removes one."""
        return self._add("patch", of, to_stored(patch), ttl, expires_at, ttl_of, returns)

    def operations(
        self,
        of: Union[Key, By],
        ops: Sequence[JSON],
        *,
        ttl: Optional[str] = None,
        expires_at: Optional[datetime] = None,
        ttl_of: Optional[str] = None,
        returns: Optional[str] = None,
    ) -> Atomic:
        """Operations of a JSON Patch (RFC 6902), and those that the service adds."""
        return self._add("patch", of, {"ops": list(ops)}, ttl, expires_at, ttl_of, returns)

    def sum(
        self,
        of: Union[Key, By],
        amount: Summand,
        *,
        min: Optional[Summand] = None,
        max: Optional[Summand] = None,
        out: Optional[str] = None,
        ttl: Optional[str] = None,
        expires_at: Optional[datetime] = None,
        ttl_of: Optional[str] = None,
        returns: Optional[str] = None,
    ) -> Atomic:
        """Adds to a number, BigInt or KvU64 of the same type. ``out`` says what
        becomes of a sum beyond its bounds: "refuse", "clamp" or "skip"."""
        bounds = {
            "min": None if min is None else to_operand(min),
            "max": None if max is None else to_operand(max),
        }
        return self._add(
            "sum", of, to_stored(amount), ttl, expires_at, ttl_of, returns, out=out, **bounds
        )

    def min(
        self,
        of: Union[Key, By],
        value: Summand,
        *,
        ttl: Optional[str] = None,
        expires_at: Optional[datetime] = None,
        ttl_of: Optional[str] = None,
        returns: Optional[str] = None,
    ) -> Atomic:
        """Keeps the lesser of the stored number and this one."""
        return self._add("min", of, to_stored(value), ttl, expires_at, ttl_of, returns)

    def max(
        self,
        of: Union[Key, By],
        value: Summand,
        *,
        ttl: Optional[str] = None,
        expires_at: Optional[datetime] = None,
        ttl_of: Optional[str] = None,
        returns: Optional[str] = None,
    ) -> Atomic:
        """Keeps the greater of the stored number and this one."""
        return self._add("max", of, to_stored(value), ttl, expires_at, ttl_of, returns)

    def touch(
        self,
        of: Union[Key, By],
        ttl: Optional[str] = None,
        *,
        expires_at: Optional[datetime] = None,
        ttl_of: Optional[str] = None,
        returns: Optional[str] = None,
    ) -> Atomic:
        """Changes when the entry expires, and nothing else."""
        return self._add("touch", of, {}, ttl, expires_at, ttl_of, returns)

    def commit(self) -> Commit:
        """Returns when it is on disk. Raises for all but a failed check."""
        return self._send()

    def dry_run(self) -> Commit:
        """What a commit would answer now, with no versionstamp; nothing is changed."""
        return self._send(dry=True)

    def _send(self, dry: bool = False) -> Commit:
        try:
            return self._commit(dry)
        except KindexError as error:
            if error.code != "check-failed":
                raise
            return Commit(False, None, [], error.failed_checks)

    def _commit(self, dry: bool) -> Commit:
        """Raises for a failed check, too."""
        body: JSON = {"checks": self._checks, "mutations": self._mutations}
        if self._acks:
            body["ack"] = self._acks
        if dry:
            body["dry"] = True
        answer = self._transport.send(
            Request("POST", "/atomic", body=write_json(body), writes=not dry)
        ).json("versionstamp")
        results = answer.get("results") or [None] * len(self._mutations)
        entries = [_entry(wire) if wire and "key" in wire else None for wire in results]
        return Commit(True, answer["versionstamp"], entries, [])


class Transaction:
    """Reads, and then writes that are committed only if everything that was read is
    still the same: entries, entries that are absent, and lists with all that they could
    have. A write has the parameters of the same method of Atomic."""

    def __init__(self, db: Kindex) -> None:
        self._db = db
        self._atomic = db.atomic()
        self._writes = False

    def _must_read(self) -> None:
        if self._writes:
            raise RuntimeError(
                "a transaction does not see its own writes: read before the first of them"
            )

    def get(self, key: Key, *, fields: Optional[Sequence[str]] = None) -> Entry:
        return self.get_many([key], fields=fields)[0]

    def get_many(
        self, keys: Sequence[Key], *, fields: Optional[Sequence[str]] = None
    ) -> list[Entry]:
        self._must_read()
        entries = self._db.get_many(keys, fields=fields)
        for key, entry in zip(keys, entries):
            self._atomic.check(key, entry.versionstamp)
        return entries

    def list(
        self,
        prefix: Optional[Key] = None,
        *,
        start: Optional[Key] = None,
        end: Optional[Key] = None,
        reverse: bool = False,
        fields: Optional[Sequence[str]] = None,
        keys: bool = False,
        limit: Optional[int] = None,
        page_size: int = 100,
    ) -> Iterator[Entry]:
        """Each page that is read is checked as a whole."""
        bounds = {"prefix": prefix, "start": start, "end": end}
        given: JSON = {name: to_key(key) for name, key in bounds.items() if key is not None}
        given = given or {"prefix": []}
        last: Any = None
        while limit is None or limit > 0:
            self._must_read()
            selected = given if last is None else _from_entry(given, last, reverse)
            # Without a cursor, which no check has: a page begins with the end of the last.
            again = 0 if last is None or reverse else 1
            size = page_size if limit is None else min(limit, page_size)
            query: Query = {name: write_json(key) for name, key in selected.items()}
            query["limit"] = str(min(size + again, PAGE_MAX))
            query["digest"] = "true"
            if reverse:
                query["reverse"] = "true"
            if keys:
                query["keys"] = "true"
            if fields is not None:
                query["fields"] = write_json(_fields(fields))
            page = self._db._read("GET", "/list", "entries", "cursor", "digest", query=query)
            wires = page["entries"]
            check = {**selected, "reverse": reverse, "digest": page["digest"]}
            if page["cursor"] is not None:
                check["limit"] = len(wires)
            self._atomic._checks.append(check)
            if again and wires and wires[0]["key"] == last:
                wires = wires[1:]
            for wire in wires:
                yield _entry(wire)
            if page["cursor"] is None:
                return
            if not wires:
                raise ValueError("an entry fills a page of a list")
            last = wires[-1]["key"]
            limit = None if limit is None else limit - len(wires)

    def _write(self) -> Atomic:
        self._writes = True
        return self._atomic

    def set(self, of: Union[Key, By], value: object, **options: Any) -> None:
        self._write().set(of, value, **options)

    def delete(self, of: Union[Key, By]) -> None:
        self._write().delete(of)

    def patch(self, of: Union[Key, By], patch: object, **options: Any) -> None:
        self._write().patch(of, patch, **options)

    def operations(self, of: Union[Key, By], ops: Sequence[JSON], **options: Any) -> None:
        self._write().operations(of, ops, **options)

    def sum(self, of: Union[Key, By], amount: Summand, **options: Any) -> None:
        self._write().sum(of, amount, **options)

    def min(self, of: Union[Key, By], value: Summand, **options: Any) -> None:
        self._write().min(of, value, **options)

    def max(self, of: Union[Key, By], value: Summand, **options: Any) -> None:
        self._write().max(of, value, **options)

    def touch(self, of: Union[Key, By], ttl: Optional[str] = None, **options: Any) -> None:
        self._write().touch(of, ttl, **options)

    def _commit(self, last: bool) -> bool:
        """False if something that was read has changed; raises if this was the last try."""
        try:
            self._atomic._commit(dry=False)
        except KindexError as error:
            if error.code != "check-failed" or last:
                raise
            return False
        return True


def _from_entry(given: JSON, last: Any, reverse: bool) -> JSON:
    """The part of a range from an entry on, which it has as the first, or ends before."""
    bound = {"end" if reverse else "start": last}
    other = "start" if reverse else "end"
    if other in given:
        return {**bound, other: given[other]}
    return {"prefix": given.get("prefix", []), **bound}


def _pauses(tries: int) -> Iterator[Optional[float]]:
    """The pause after each try of a transaction; None after the last."""
    if tries < 1:
        raise ValueError(f"tries is {tries}, not a number from 1 up")
    pause = FIRST_PAUSE_S
    for _ in range(tries - 1):
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 2, LONGEST_PAUSE_S)
    yield None


class Kindex:
    """A service. Any thread. Methods raise a KindexError for every answer that is no
    success. A request without an answer is sent again up to ``retries`` times, and a
    write is done once all the same."""

    def __init__(
        self,
        url: str,
        *,
        token: Token = None,
        retries: int = 8,
        ssl_context: Optional[ssl.SSLContext] = None,
        consistency: Optional[str] = None,
    ) -> None:
        """``consistency`` is what reads show if several nodes serve the store: "strong",
        "session" (all that this client has read and written before) or "eventual"."""
        self._transport = Transport(url, token, retries, ssl_context, consistency)

    def close(self) -> None:
        """Closes the kept connections; no thread must use the client."""
        self._transport.close()

    def __enter__(self) -> Kindex:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _read(
        self,
        method: str,
        path: str,
        *members: str,
        query: Optional[Query] = None,
        body: Optional[JSON] = None,
    ) -> JSON:
        text = None if body is None else write_json(body)
        request = Request(method, path, query or {}, body=text, reads=True)
        answer: JSON = self._transport.send(request).json(*members)
        return answer

    def get(
        self,
        key: Key,
        *,
        fields: Optional[Sequence[str]] = None,
        expand: Optional[Sequence[str]] = None,
    ) -> Entry:
        """``fields``: only these members of the value, as JSON Pointers. ``expand``:
        references to follow, such as "/user" by a rule or "/user:users"."""
        return self.get_many([key], fields=fields, expand=expand)[0]

    def get_many(
        self,
        keys: Sequence[Key],
        *,
        fields: Optional[Sequence[str]] = None,
        expand: Optional[Sequence[str]] = None,
    ) -> list[Entry]:
        """Up to 1000 entries, in one consistent view."""
        body: JSON = {"keys": [to_key(key) for key in keys]}
        if fields is not None:
            body["fields"] = _fields(fields)
        if expand is not None:
            body["expand"] = _fields(expand)
        answer = self._read("POST", "/get", "entries", body=body)
        return [_entry(wire) for wire in answer["entries"]]

    def atomic(self) -> Atomic:
        return Atomic(self._transport)

    def queue(self, name: str) -> Queue:
        """The jobs of an index that is declared with ``queue``."""
        return Queue(self._transport, name)

    def queues(self) -> Names:
        """The names of the queues."""
        answer = self._transport.send(Request("GET", "/queues")).json("queues")
        return [queue["name"] for queue in answer["queues"]]

    def transaction(self, work: Callable[[Transaction], T], *, tries: int = TRIES) -> T:
        """Does the work, and commits what it writes if everything that it read is still
        the same. Otherwise, after a pause, it does the work again; other errors are
        raised. Returns what the work returns."""
        for pause in _pauses(tries):
            transaction = Transaction(self)
            result = work(transaction)
            if transaction._commit(last=pause is None):
                return result
            time.sleep(pause or 0.0)
        raise AssertionError("not reached")

    def put(
        self,
        key: Key,
        value: object,
        *,
        ttl: Optional[str] = None,
        expires_at: Optional[datetime] = None,
        versionstamp: Version = UNCHECKED,
    ) -> Optional[str]:
        """The versionstamp. With one given: only if the entry has it (None: only if
        there is no entry), and None if it has not."""
        atomic = self.atomic().set(key, value, ttl=ttl, expires_at=expires_at)
        if not isinstance(versionstamp, _Unchecked):
            atomic.check(key, versionstamp)
        return atomic.commit().versionstamp

    def patch(
        self,
        key: Key,
        patch: object,
        *,
        ttl: Optional[str] = None,
        expires_at: Optional[datetime] = None,
        versionstamp: Version = UNCHECKED,
    ) -> Optional[str]:
        """Applies a merge patch (RFC 7396). The result is that of ``put``."""
        atomic = self.atomic().patch(key, patch, ttl=ttl, expires_at=expires_at)
        if not isinstance(versionstamp, _Unchecked):
            atomic.check(key, versionstamp)
        return atomic.commit().versionstamp

    def add(self, prefix: Key, value: object, *, ttl: Optional[str] = None) -> Entry:
        """Stores the value under the prefix and one more part, by which entries are in
        order. The entry has that key, but no time of expiry."""
        body, headers = _value_body(value)
        query: Query = {"key": _text(prefix), "ttl": ttl}
        request = Request("POST", "/kv", query, body=body, headers=headers, writes=True)
        wire = self._transport.send(request).json("key", "versionstamp")
        return Entry(from_key(wire["key"]), value, wire["versionstamp"])

    def delete(self, key: Key) -> Optional[Entry]:
        """What was there."""
        return self.atomic().delete(key, returns="old").commit().results[0]

    def _paged(
        self,
        limit: Optional[int],
        page_size: int,
        ask: Callable[[JSON], JSON],
        member: str,
        item: Callable[[JSON], T],
    ) -> Iterator[T]:
        """The items of pages, each of which ``ask`` gets."""
        place: JSON = {}
        while limit is None or limit > 0:
            place["limit"] = page_size if limit is None else min(limit, page_size)
            page = ask(place)
            for wire in page[member]:
                yield item(wire)
            if page["cursor"] is None:
                return
            place["cursor"] = page["cursor"]
            if limit is not None:
                limit -= len(page[member])

    def list(
        self,
        prefix: Optional[Key] = None,
        *,
        start: Optional[Key] = None,
        end: Optional[Key] = None,
        index: Optional[str] = None,
        reverse: bool = False,
        where: Union[JSON, Sequence[JSON], None] = None,
        in_: Optional[Sequence[Key]] = None,
        order: Optional[str] = None,
        fields: Optional[Sequence[str]] = None,
        expand: Optional[Sequence[str]] = None,
        keys: bool = False,
        limit: Optional[int] = None,
        page_size: int = 100,
    ) -> Iterator[Entry]:
        """Entries in key order, or in that of an index: then prefix, start and end
        are values of its fields, and ``in_`` has the values that the fields after the
        prefix may have, listed in the ``order`` "concat" or "merge". ``where`` has
        conditions such as {"path": "/age", "ge": 18}, which are tested one by one.
        With ``fields`` values have only these members, with ``keys`` they are None;
        ``expand`` has references to follow, such as "/user" or "/user:users"."""
        query = {
            **_selection(prefix, start, end, index),
            "reverse": "true" if reverse else None,
            "keys": "true" if keys else None,
            "where": None if where is None else write_json(_where(where)),
            "in": None if in_ is None else [write_json(to_fields(value)) for value in in_],
            "order": order,
            "fields": None if fields is None else write_json(_fields(fields)),
            "expand": ",".join(_fields(expand) or []) or None,
        }

        def ask(place: JSON) -> JSON:
            return self._read("GET", "/list", "entries", "cursor", query={**query, **place})

        return self._paged(limit, page_size, ask, "entries", _entry)

    def list_ranges(
        self,
        ranges: Sequence[Range],
        *,
        order: Optional[str] = None,
        fields: Optional[Sequence[str]] = None,
        keys: bool = False,
        limit: Optional[int] = None,
        page_size: int = 100,
    ) -> Iterator[Entry]:
        """The entries of up to 64 ranges as one list, each entry once; ``order`` is
        "concat", one range after another, or "merge"."""
        body: JSON = {"ranges": [_range(selected) for selected in ranges], "keys": keys}
        if order is not None:
            body["order"] = order
        if fields is not None:
            body["fields"] = _fields(fields)

        def ask(place: JSON) -> JSON:
            return self._read("POST", "/list", "entries", "cursor", body={**body, **place})

        return self._paged(limit, page_size, ask, "entries", _entry)

    def children(
        self,
        prefix: Optional[Key] = None,
        *,
        start: Optional[Key] = None,
        end: Optional[Key] = None,
        index: Optional[str] = None,
        limit: Optional[int] = None,
        page_size: int = 100,
    ) -> Iterator[Child]:
        """The parts that follow a prefix, of keys or of the values of an index."""
        query = _selection(prefix, start, end, index)

        def ask(place: JSON) -> JSON:
            return self._read("GET", "/tree", "children", "cursor", query={**query, **place})

        def child(wire: JSON) -> Child:
            return Child(from_key(wire["key"]), wire["entry"], wire["below"], wire["exact"])

        return self._paged(limit, page_size, ask, "children", child)

    def count(
        self,
        prefix: Optional[Key] = None,
        *,
        start: Optional[Key] = None,
        end: Optional[Key] = None,
        index: Optional[str] = None,
        estimate: bool = False,
    ) -> int:
        """With ``estimate`` about how many, in little time."""
        query = _selection(prefix, start, end, index)
        query["estimate"] = "true" if estimate else None
        count: int = self._read("GET", "/count", "count", query=query)["count"]
        return count

    def aggregate(
        self,
        index: str,
        prefix: Optional[Key] = None,
        *,
        start: Optional[Key] = None,
        end: Optional[Key] = None,
    ) -> Aggregate:
        """The totals of an index of totals, or of those of its groups in a range, as
        one."""
        answer = self._read(
            "GET", "/aggregate", "count", "groups", query=_selection(prefix, start, end, index)
        )
        return Aggregate(
            answer["count"], answer.get("sum", {}), answer["groups"], answer.get("leftOut")
        )

    def explain(
        self,
        prefix: Key,
        *,
        depth: Optional[int] = None,
        where: Union[JSON, Sequence[JSON], None] = None,
        order: Optional[Sequence[Union[str, JSON]]] = None,
        reverse: bool = False,
        fields: Optional[Sequence[str]] = None,
    ) -> JSON:
        """Which index answers a query, by which ``request``, or the ``declaration`` of
        one that would. Conditions have a ``path``, or the number of a part as ``key``."""
        question: JSON = {"prefix": to_key(prefix), "reverse": reverse}
        optional = {
            "depth": depth,
            "where": None if where is None else _where(where),
            "order": None if order is None else list(order),
            "fields": _fields(fields),
        }
        question.update({name: given for name, given in optional.items() if given is not None})
        request = Request("POST", "/explain", body=write_json(question))
        explanation: JSON = self._transport.send(request).json("entries", "indexes")
        return explanation

    def bulk(self, entries: Iterable[BulkEntry]) -> int:
        """Stores entries, many in each commit, and returns how many. At the first one
        that is refused a KindexError has their number in ``problem["stored"]``: those
        before are stored."""
        stored = 0
        lines: list[str] = []
        chars = 0
        for entry in entries:
            times = _times(entry.ttl, entry.expires_at)
            line = {"key": to_key(entry.key), **to_stored(entry.value), **times}
            lines.append(write_json(line) + "\n")
            chars += len(lines[-1])
            if chars >= BULK_CHARS:
                stored += self._bulk(lines, stored)
                lines, chars = [], 0
        return stored + (self._bulk(lines, stored) if lines else 0)

    def _bulk(self, lines: Sequence[str], before: int) -> int:
        """Sent again, the lines set the same entries, so that they need no idempotency
        key."""
        headers = {"Content-Type": "application/x-ndjson"}
        request = Request("POST", "/bulk", body="".join(lines), headers=headers)
        try:
            end = _bulk_end(self._transport.send(request))
        except KindexError as error:
            raise KindexError(error.status, {**error.problem, "stored": before}) from None
        stored: int = end["stored"]
        if "error" in end:
            problem = {**end["error"], "stored": before + stored}
            raise KindexError(problem["status"], problem)
        return stored

    def delete_range(
        self,
        prefix: Optional[Key] = None,
        *,
        start: Optional[Key] = None,
        end: Optional[Key] = None,
        index: Optional[str] = None,
    ) -> int:
        """Deletes what a list would have, in commits of up to 1000; returns how many."""
        query = _selection(prefix, start, end, index)
        return self._change_range(Request("DELETE", "/list", query, writes=True), "deleted")

    def patch_range(
        self,
        prefix: Optional[Key] = None,
        *,
        start: Optional[Key] = None,
        end: Optional[Key] = None,
        index: Optional[str] = None,
        patch: object = UNCHECKED,
        operations: Optional[Sequence[JSON]] = None,
        ttl: Optional[str] = None,
    ) -> int:
        """Patches what a list would have, in commits of up to 1000, by a merge patch or
        the operations of a JSON Patch; returns how many."""
        request = Request("PATCH", "/list", _selection(prefix, start, end, index), writes=True)
        request.query["ttl"] = ttl
        if operations is not None:
            request.body = write_json(list(operations))
            request.headers["Content-Type"] = "application/json-patch+json"
        elif patch is not UNCHECKED:
            request.body = write_json(patch)
            request.headers["Content-Type"] = "application/merge-patch+json"
        return self._change_range(request, "patched")

    def _change_range(self, request: Request, member: str) -> int:
        changed = 0
        while True:
            answer = self._transport.send(request).json(member, "more")
            changed += answer[member]
            if not answer["more"]:
                return changed
            request.query["cursor"] = answer.get("cursor")

    def get_by_index(self, index: str, *values: KeyPart) -> Optional[Entry]:
        """The first entry that has the values, or None."""
        return next(self.list(values, index=index, limit=1), None)

    def put_by_index(
        self,
        index: str,
        values: Key,
        value: object,
        *,
        create: Optional[Key] = None,
        ttl: Optional[str] = None,
    ) -> str:
        """Replaces the entry that has the values in a unique index, or makes one
        under the key ``create``; the service finds it while it commits."""
        body, headers = _value_body(value)
        query: Query = {"key": _text(values, index), "new": _text(create), "ttl": ttl}
        answer = self._transport.send(
            Request("PUT", f"{_path(index)}/get", query, body=body, headers=headers, writes=True)
        )
        stamp: str = answer.json("versionstamp")["versionstamp"]
        return stamp

    def declare_index(
        self, name: str, prefix: Key, fields: Sequence[Union[str, JSON]] = (), **members: object
    ) -> JSON:
        """Declares an index, with ``unique``, ``store``, ``where`` and so on as POST
        /indexes takes them, and returns when it can be read. Twice is once."""
        fields = [*fields]
        body = _declaration({"name": name, "prefix": prefix, "fields": fields, **members})
        self._transport.send(Request("POST", "/indexes", body=write_json(body)))
        return self._settled(name)

    def apply_indexes(
        self, declarations: dict[str, JSON], *, prune: bool = False
    ) -> dict[str, JSON]:
        """Makes the indexes match the declarations by name, in one commit: what differs
        is declared or migrates. Returns them when they can be read. Others stay, or are
        dropped with ``prune``."""
        self._put_indexes(declarations, prune)
        indexes = {name: self._settled(name) for name in declarations}
        for name, index in indexes.items():
            state = (index.get("migration") or index)["state"]
            if state != "ready":
                detail = f"index {name} is {state}"
                raise KindexError(409, {"code": "index-not-ready", "detail": detail, **index})
        return indexes

    def plan_indexes(
        self, declarations: dict[str, JSON], *, prune: bool = False
    ) -> Sequence[JSON]:
        """What apply_indexes would change. Nothing is changed."""
        changes: Sequence[JSON] = self._put_indexes(declarations, prune, dry=True)["indexes"]
        return changes

    def _put_indexes(self, declarations: dict[str, JSON], prune: bool, dry: bool = False) -> JSON:
        body = {name: _declaration(declared) for name, declared in declarations.items()}
        query: Query = {"prune": "true" if prune else None, "dry": "true" if dry else None}
        request = Request("PUT", "/indexes", query, body=write_json(body))
        answer: JSON = self._transport.send(request).json("indexes")
        return answer

    def migrate_index(self, name: str, **changes: object) -> JSON:
        """Changes members of the declaration; None stands for the default. Returns when
        the index has the new form. Until then it can be read in the old one."""
        if changes.get("prefix") is not None:
            changes["prefix"] = to_key(changes["prefix"])  # type: ignore[arg-type]
        headers = {"Content-Type": "application/merge-patch+json"}
        self._transport.send(
            Request("PATCH", _path(name), body=write_json(changes), headers=headers)
        )
        return self._settled(name)

    def _settled(self, name: str) -> JSON:
        while True:
            index = self.get_index(name)
            if (index.get("migration") or index)["state"] != "building":
                return index
            time.sleep(0.1)

    def get_index(self, name: str) -> JSON:
        headers = {"Prefer": f"wait={WAIT_S}"}
        request = Request("GET", _path(name), headers=headers)
        index: JSON = self._transport.send(request).json("state")
        return index

    def list_indexes(self) -> Sequence[JSON]:
        answer = self._transport.send(Request("GET", "/indexes")).json("indexes")
        indexes: Sequence[JSON] = answer["indexes"]
        return indexes

    def drop_index(self, name: str) -> None:
        """Its entries are freed in the background."""
        self._transport.send(Request("DELETE", _path(name)))

    def put_rule(self, name: str, prefix: Key, **members: object) -> JSON:
        """Declares what entries under a prefix must be, with ``schema``, ``ttl``,
        ``quota`` and so on as PUT /rules takes them, or replaces the rule of this name.
        Writes obey it at once; stored entries are checked in the background."""
        return _rule(self._put_rule(name, {"prefix": prefix, **members}, {}))

    def plan_rule(self, name: str, prefix: Key, **members: object) -> JSON:
        """How many of the stored entries would violate the rule: ``read``,
        ``violations`` and ``examples``. Nothing is changed."""
        plan = self._put_rule(name, {"prefix": prefix, **members}, {"dry": "true"})
        examples = [_violation(one) for one in plan["examples"]]
        return {**plan, "declaration": _rule(plan["declaration"]), "examples": examples}

    def _put_rule(self, name: str, rule: JSON, query: Query) -> JSON:
        request = Request("PUT", _rule_path(name), query, body=_rule_body(rule))
        answer: JSON = self._transport.send(request).json()
        return answer

    def get_rule(self, name: str) -> JSON:
        return _rule(self._transport.send(Request("GET", _rule_path(name))).json("state"))

    def list_rules(self) -> Sequence[JSON]:
        rules = self._transport.send(Request("GET", "/rules")).json("rules")["rules"]
        return [_rule(rule) for rule in rules]

    def drop_rule(self, name: str) -> None:
        self._transport.send(Request("DELETE", _rule_path(name)))

    def violations(
        self, rule: str, *, limit: Optional[int] = None, page_size: int = 100
    ) -> Iterator[JSON]:
        """The stored entries that violate a rule: ``key``, ``pointer``, ``expected``."""

        def ask(place: JSON) -> JSON:
            path = f"{_rule_path(rule)}/violations"
            return self._read("GET", path, "violations", "cursor", query=place)

        return self._paged(limit, page_size, ask, "violations", _violation)

    def usage(self, prefix: Optional[Key] = None) -> Sequence[JSON]:
        """The totals of quotas on a prefix, below it, or above it, at
        most 1000."""
        query: Query = {"prefix": _text(prefix), "limit": "1000"}
        answer = self._read("GET", "/usage", "usage", query=query)
        return [{**one, "prefix": from_key(one["prefix"])} for one in answer["usage"]]

    def watch(self, keys: Sequence[Key]) -> Iterator[Change]:
        """First all of up to 100 entries, then those that have changed, without an
        end; after a break it continues, so that the last state is always shown."""
        query = "&".join(f"key={quote(_text(key) or '', safe='')}" for key in keys)
        return self._changes(f"/watch?{query}")

    def watch_prefix(self, prefix: Key) -> Iterator[Change]:
        """First a reset, then what changes under a prefix, without an end."""
        return self._changes(f"/watch?prefix={quote(_text(prefix) or '', safe='')}")

    def watch_index(
        self, index: str, *, since: Optional[str] = None, prefix: Optional[Key] = None
    ) -> Iterator[IndexChange]:
        """The entries of an index of changes after ``since``, then those of each commit,
        without an end. ``prefix`` has a value of each field before the versionstamp."""
        query = {"index": index, "since": since, "prefix": _text(prefix, index)}
        given = {name: text for name, text in query.items() if text is not None}
        for event in self._events(f"/watch?{urlencode(given)}"):
            if event.get("event") in ("change", "bookmark"):
                wires = read_json(event["data"]).get("entries", [])
                yield IndexChange([_entry(wire) for wire in wires], event.get("id"))

    def _changes(self, path: str) -> Iterator[Change]:
        for event in self._events(path):
            if event.get("event") in ("change", "reset"):
                wires = read_json(event["data"]).get("entries", [])
                yield Change(event["event"] == "reset", [_entry(wire) for wire in wires])

    def _events(self, path: str) -> Iterator[dict[str, str]]:
        """After a break it asks again, with the last id, so that nothing is missed."""
        last: Optional[str] = None
        while True:
            headers = {"Accept": "text/event-stream"}
            if last is not None:
                headers["Last-Event-ID"] = last
            request = Request("GET", path, headers=headers, streams=True)
            answer: Optional[Answer] = None
            try:
                answer = self._transport.send(request)
                for event in _events(answer):
                    last = event.get("id", last)
                    if event.get("event") == "error":
                        problem = read_json(event["data"])
                        raise KindexError(problem["status"], problem)
                    yield event
            except KindexError as error:
                if error.status not in (0, 503):
                    raise
            except (OSError, http.client.HTTPException):
                pass  # cut off: it continues with the next connection
            finally:
                if answer is not None and answer.stream is not None:
                    answer.stream.close()
            time.sleep(RECONNECT_S)


def _events(answer: Answer) -> Iterator[dict[str, str]]:
    event: dict[str, str] = {}
    assert answer.stream is not None
    size = 0
    while line := answer.stream.readline(ANSWER_BYTES_MAX - size + 1):
        size += len(line)
        if size > ANSWER_BYTES_MAX:
            detail = f"an event of more than {ANSWER_BYTES_MAX} bytes"
            raise KindexError(answer.status, {"detail": detail})
        text = line.decode().rstrip("\n")
        if text == "":
            yield event
            event = {}
            size = 0
            continue
        name, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        event[name] = event.get(name, "") + value if name == "data" else value


def connect(
    url: str,
    *,
    token: Token = None,
    retries: int = 8,
    ssl_context: Optional[ssl.SSLContext] = None,
    consistency: Optional[str] = None,
) -> Kindex:
    return Kindex(
        url, token=token, retries=retries, ssl_context=ssl_context, consistency=consistency
    )
