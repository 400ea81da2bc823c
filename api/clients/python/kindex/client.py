from __future__ import annotations

import http.client
import ssl
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Iterator, NamedTuple, Optional, Sequence, Union
from urllib.parse import quote

from .error import KindexError
from .http import ANSWER_BYTES_MAX, Answer, Request, Token, Transport
from .json_text import read_json, write_json
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


@dataclass(frozen=True)
class Entry:
    """Without an entry, ``value`` and ``versionstamp`` are None."""

    key: tuple[KeyPart, ...]
    value: Any
    versionstamp: Optional[str]
    expires_at: Optional[datetime] = None


@dataclass(frozen=True)
class By:
    """An entry by its values in a unique index, in place of its key."""

    index: str
    values: Key


class Change(NamedTuple):
    """What has changed; after a reset anything may have: list it."""

    reset: bool
    entries: list[Entry]


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
Version = Union[str, None, _Unchecked]


def _entry(wire: JSON) -> Entry:
    expires = wire.get("expiresAt")
    return Entry(
        from_key(wire["key"]),
        from_stored(wire),
        wire["versionstamp"],
        None if expires is None else from_milliseconds(expires),
    )


def _text(key: Optional[Key], index: Optional[str] = None) -> Optional[str]:
    """A parameter: a key, or values of the fields of an index."""
    if key is None:
        return None
    return write_json(to_key(key) if index is None else to_fields(key))


def _target(of: Union[Key, By]) -> JSON:
    if isinstance(of, By):
        return {"by": {"index": of.index, "value": to_fields(of.values)}}
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

    def check(self, of: Union[Key, By], versionstamp: Optional[str]) -> Atomic:
        """None: only if there is no entry."""
        self._checks.append({**_target(of), "versionstamp": versionstamp})
        return self

    def check_where(self, of: Union[Key, By], path: str, **comparisons: object) -> Atomic:
        """Comparisons are eq, ne, gt, ge, lt, le, exists and in_."""
        where: JSON = {"path": path}
        for name, value in comparisons.items():
            if name == "in_":
                where["in"] = [to_operand(one) for one in value]  # type: ignore[attr-defined]
            else:
                where[name] = to_operand(value)
        self._checks.append({**_target(of), "where": where})
        return self

    def check_none(self, prefix: Key) -> Atomic:
        """Only if no entry is under the prefix."""
        self._checks.append({"prefix": to_key(prefix), "none": True})
        return self

    def _add(self, kind: str, of: Union[Key, By], members: JSON, returns: Optional[str]) -> Atomic:
        mutation = {"type": kind, **_target(of), **members}
        if returns is not None:
            mutation["return"] = returns
        self._mutations.append(mutation)
        return self

    def set(
        self,
        of: Union[Key, By],
        value: object,
        *,
        ttl: Optional[str] = None,
        expires_at: Optional[datetime] = None,
        returns: Optional[str] = None,
    ) -> Atomic:
        """``returns`` is "old" or "new": the entry is in the results."""
        return self._add("set", of, {**to_stored(value), **_times(ttl, expires_at)}, returns)

    def delete(self, of: Union[Key, By], *, returns: Optional[str] = None) -> Atomic:
        return self._add("delete", of, {}, returns)

    def patch(self, of: Union[Key, By], patch: object, *, returns: Optional[str] = None) -> Atomic:
        """A merge patch (RFC 7396): members replace members, None removes one."""
        return self._add("patch", of, to_stored(patch), returns)

    def operations(
        self, of: Union[Key, By], ops: Sequence[JSON], *, returns: Optional[str] = None
    ) -> Atomic:
        """Operations of a JSON Patch (RFC 6902), and those that the service adds."""
        return self._add("patch", of, {"ops": list(ops)}, returns)

    def sum(
        self,
        of: Union[Key, By],
        amount: Union[int, float],
        *,
        min: Union[int, float, None] = None,
        max: Union[int, float, None] = None,
        out: Optional[str] = None,
        ttl: Optional[str] = None,
        returns: Optional[str] = None,
    ) -> Atomic:
        """Adds to a number, BigInt or KvU64 of the same type. ``out`` says what
        becomes of a sum beyond its bounds: "refuse", "clamp" or "skip"."""
        members = {**to_stored(amount), **_times(ttl, None)}
        bounds = {"min": min, "max": max}
        members.update({n: to_operand(b) for n, b in bounds.items() if b is not None})
        if out is not None:
            members["out"] = out
        return self._add("sum", of, members, returns)

    def touch(self, of: Union[Key, By], ttl: str) -> Atomic:
        """Changes when the entry expires, and nothing else."""
        return self._add("touch", of, {"ttl": ttl}, None)

    def commit(self) -> Commit:
        """Returns when it is on disk. Raises for all but a failed check."""
        body = {"checks": self._checks, "mutations": self._mutations}
        try:
            answer = self._transport.send(
                Request("POST", "/atomic", body=write_json(body), writes=True)
            ).json("versionstamp")
        except KindexError as error:
            if error.code != "check-failed":
                raise
            return Commit(False, None, [], error.failed_checks)
        results = answer.get("results") or [None] * len(self._mutations)
        entries = [_entry(wire) if wire and "key" in wire else None for wire in results]
        return Commit(True, answer["versionstamp"], entries, [])


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
    ) -> None:
        self._transport = Transport(url, token, retries, ssl_context)

    def close(self) -> None:
        """Closes the kept connections; no thread must use the client."""
        self._transport.close()

    def __enter__(self) -> Kindex:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def get(self, key: Key) -> Entry:
        return self.get_many([key])[0]

    def get_many(self, keys: Sequence[Key]) -> list[Entry]:
        """Up to 1000 entries, in one consistent view."""
        body = {"keys": [to_key(key) for key in keys]}
        answer = self._transport.send(Request("POST", "/get", body=write_json(body))).json("entries")
        return [_entry(wire) for wire in answer["entries"]]

    def atomic(self) -> Atomic:
        return Atomic(self._transport)

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

    def patch(self, key: Key, patch: object) -> str:
        """Applies a merge patch (RFC 7396)."""
        return self.atomic().patch(key, patch).commit().versionstamp or ""

    def delete(self, key: Key) -> Optional[Entry]:
        """What was there."""
        return self.atomic().delete(key, returns="old").commit().results[0]

    def list(
        self,
        prefix: Optional[Key] = None,
        *,
        start: Optional[Key] = None,
        end: Optional[Key] = None,
        index: Optional[str] = None,
        reverse: bool = False,
        limit: Optional[int] = None,
        page_size: int = 100,
    ) -> Iterator[Entry]:
        """Entries in key order, or in that of an index: then prefix, start and end
        are values of its fields."""
        query = {
            "prefix": _text(prefix, index),
            "start": _text(start, index),
            "end": _text(end, index),
            "index": index,
            "reverse": "true" if reverse else None,
        }
        while limit is None or limit > 0:
            size = page_size if limit is None else min(limit, page_size)
            query["limit"] = str(size)
            page = self._transport.send(Request("GET", "/list", query)).json("entries", "cursor")
            for wire in page["entries"]:
                yield _entry(wire)
            query["cursor"] = page["cursor"]
            if page["cursor"] is None:
                return
            if limit is not None:
                limit -= len(page["entries"])

    def count(
        self,
        prefix: Optional[Key] = None,
        *,
        start: Optional[Key] = None,
        end: Optional[Key] = None,
        index: Optional[str] = None,
    ) -> int:
        query = {
            "prefix": _text(prefix, index),
            "start": _text(start, index),
            "end": _text(end, index),
            "index": index,
        }
        answer = self._transport.send(Request("GET", "/count", query)).json("count")
        count: int = answer["count"]
        return count

    def get_by_index(self, index: str, *values: KeyPart) -> Optional[Entry]:
        """The first entry that has the values, or None."""
        return next(self.list(values, index=index, limit=1), None)

    def put_by_index(
        self, index: str, values: Key, value: object, *, create: Optional[Key] = None
    ) -> str:
        """Replaces the entry that has the values in a unique index, or makes one
        under the key ``create``; the service finds it while it commits."""
        stored = to_stored(value)
        headers = {}
        if "typed" in stored:
            headers["Content-Type"] = "application/vnd.kindex.typed+json"
        answer = self._transport.send(
            Request(
                "PUT",
                f"/indexes/{quote(index, safe='')}/get",
                {"key": _text(values, index), "new": _text(create)},
                body=write_json(stored["typed"] if "typed" in stored else stored["value"]),
                headers=headers,
                writes=True,
            )
        )
        stamp: str = answer.json("versionstamp")["versionstamp"]
        return stamp

    def declare_index(
        self, name: str, prefix: Key, fields: Sequence[Union[str, JSON]], **members: object
    ) -> JSON:
        """Declares an index, with ``unique``, ``store``, ``where`` and so on as POST
        /indexes takes them, and returns when it can be read. Twice is once."""
        body: JSON = {"name": name, "prefix": to_key(prefix), "fields": [*fields], **members}
        wait = {"Prefer": f"wait={WAIT_S}"}
        index: JSON = self._transport.send(
            Request("POST", "/indexes", body=write_json(body), headers=wait)
        ).json("state")
        while (index.get("migration") or index)["state"] == "building":
            time.sleep(0.1)
            index = self.get_index(name)
        return index

    def get_index(self, name: str) -> JSON:
        path = f"/indexes/{quote(name, safe='')}"
        headers = {"Prefer": f"wait={WAIT_S}"}
        index: JSON = self._transport.send(Request("GET", path, headers=headers)).json("state")
        return index

    def drop_index(self, name: str) -> None:
        self._transport.send(Request("DELETE", f"/indexes/{quote(name, safe='')}"))

    def watch(self, keys: Sequence[Key]) -> Iterator[Change]:
        """First all of up to 100 entries, then those that have changed, without an
        end; after a break it continues, so that the last state is always shown."""
        query = "&".join(f"key={quote(_text(key) or '', safe='')}" for key in keys)
        return self._changes(f"/watch?{query}")

    def watch_prefix(self, prefix: Key) -> Iterator[Change]:
        """First a reset, then what changes under a prefix, without an end."""
        return self._changes(f"/watch?prefix={quote(_text(prefix) or '', safe='')}")

    def _changes(self, path: str) -> Iterator[Change]:
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
                    if event.get("event") in ("change", "reset"):
                        wires = read_json(event["data"]).get("entries", [])
                        yield Change(event["event"] == "reset", [_entry(w) for w in wires])
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
) -> Kindex:
    return Kindex(url, token=token, retries=retries, ssl_context=ssl_context)
