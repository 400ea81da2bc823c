from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Optional, Union
from urllib.parse import quote

from .error import KindexError
from .http import Query, Request, Transport
from .json_text import write_json
from .values import JSON, Key, KeyPart, from_key, from_stored, to_fields

#: A claim waits for so long, and so does the end of ``work``.
WAIT_S = 5
HEARTBEATS = 3
PAUSE_S = 1.0
#: Characters of an error, which have at most 4 bytes each.
ERROR_MAX = 250


@dataclass(frozen=True)
class Job:
    """A claimed entry. Its receipt is valid until the lease ends."""

    key: tuple[KeyPart, ...]
    value: Any
    versionstamp: str
    receipt: str
    #: Claims so far, this one included.
    attempts: int
    #: Length of the lease in seconds.
    lease: float
    #: Why the last attempt failed.
    error: Optional[str]


#: Kindex has a method ``list``, which hides the type there.
Names = list[str]
#: A job or its receipt, or several.
Receipts = Union[Job, str, Iterable[Union[Job, str]]]


def receipts_of(of: Receipts) -> list[str]:
    many = [of] if isinstance(of, (Job, str)) else of
    return [one.receipt if isinstance(one, Job) else one for one in many]


def _job(wire: JSON) -> Job:
    return Job(
        from_key(wire["key"]),
        from_stored(wire),
        wire["versionstamp"],
        wire["receipt"],
        wire["attempts"],
        wire["leaseMs"] / 1000,
        wire.get("error"),
    )


def _is_stale(error: KindexError) -> bool:
    return error.code == "receipt-stale"


class Queue:
    """The jobs of a queue: an index that is declared with ``queue``. Any thread."""

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport = transport
        self._path = f"/queues/{quote(name, safe='')}"

    def claim(self, limit: int = 1, *, wait: int = 0, prefix: Optional[Key] = None) -> list[Job]:
        """Up to ``limit`` jobs that are due. Waits for one for up to ``wait`` seconds,
        at most 30. ``prefix`` are values of the queue's fields before the time."""
        query: Query = {
            "limit": str(limit),
            "wait": str(wait) if wait else None,
            "prefix": None if prefix is None else write_json(to_fields(prefix)),
        }
        request = Request("POST", self._path + "/claim", query)
        return [_job(wire) for wire in self._transport.send(request).json("jobs")["jobs"]]

    def stats(self) -> JSON:
        """How many jobs are in which state."""
        answer: JSON = self._transport.send(Request("GET", self._path)).json("due")
        return answer

    def _change(self, action: str, of: Receipts, **members: Optional[str]) -> None:
        body: JSON = {"receipts": receipts_of(of)}
        body.update({name: text for name, text in members.items() if text is not None})
        path = f"{self._path}/{action}"
        self._transport.send(Request("POST", path, body=write_json(body), writes=True))

    def ack(self, of: Receipts) -> None:
        """Removes the jobs, which are done. All of these are one commit, or refused."""
        self._change("ack", of)

    def extend(self, of: Receipts, lease: Optional[str] = None) -> None:
        self._change("extend", of, lease=lease)

    def release(self, of: Receipts, delay: Optional[str] = None) -> None:
        """Makes the jobs due again, as if they had not been claimed."""
        self._change("release", of, delay=delay)

    def fail(
        self, of: Receipts, error: Optional[str] = None, delay: Optional[str] = None
    ) -> None:
        """Makes the jobs due after a pause, or dead after their last attempt."""
        self._change("fail", of, error=error, delay=delay)

    def work(
        self,
        handler: Callable[[Job], object],
        *,
        concurrency: int = 1,
        prefix: Optional[Key] = None,
        stop: Optional[threading.Event] = None,
        on_error: Optional[Callable[[Exception, Job], object]] = None,
    ) -> None:
        """Calls the handler for each job, in ``concurrency`` threads. A job is
        acknowledged when the handler returns, and has failed when it raises. The lease
        is extended meanwhile. Once ``stop`` is set no more jobs are claimed, and this
        method returns when the running handlers are done."""
        end = stop if stop is not None else threading.Event()
        raised: list[BaseException] = []

        def loop() -> None:
            try:
                self._loop(handler, prefix, end, on_error)
            except BaseException as error:
                raised.append(error)
                end.set()

        threads = [threading.Thread(target=loop, daemon=True) for _ in range(concurrency)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:  # such as KeyboardInterrupt
            end.set()
            for thread in threads:
                thread.join()
            raise
        if raised:
            raise raised[0]

    def _loop(
        self,
        handler: Callable[[Job], object],
        prefix: Optional[Key],
        end: threading.Event,
        on_error: Optional[Callable[[Exception, Job], object]],
    ) -> None:
        while not end.is_set():
            try:
                for job in self.claim(wait=WAIT_S, prefix=prefix):
                    self._run(job, handler, on_error)
            except KindexError as error:
                if error.status not in (0, 429, 503):
                    raise
                end.wait(PAUSE_S)

    def _beat(self, job: Job, done: threading.Event) -> None:
        while not done.wait(job.lease / HEARTBEATS):
            try:
                self.extend(job)
            except KindexError as error:
                if _is_stale(error):
                    return

    def _run(
        self,
        job: Job,
        handler: Callable[[Job], object],
        on_error: Optional[Callable[[Exception, Job], object]],
    ) -> None:
        done = threading.Event()
        heart = threading.Thread(target=self._beat, args=(job, done), daemon=True)
        heart.start()
        failed: Optional[Exception] = None
        try:
            handler(job)
        except Exception as error:
            failed = error
        finally:
            done.set()
            heart.join()
        if failed is not None and on_error is not None:
            on_error(failed, job)
        try:
            if failed is None:
                self.ack(job)
            else:
                text = str(failed) or type(failed).__name__
                self.fail(job, text.encode("utf-8", "replace").decode()[:ERROR_MAX])
        except KindexError as error:
            # The handler may have acknowledged it in a commit of its own.
            if not _is_stale(error):
                raise
