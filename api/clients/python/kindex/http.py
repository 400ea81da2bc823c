"""Requests over kept connections, sent again where that may help."""

from __future__ import annotations

import http.client
import io
import random
import socket
import ssl
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Union
from urllib.parse import urlencode, urlsplit

from .error import KindexError
from .json_text import read_json

Token = Union[str, Callable[[], str], None]
Query = dict[str, Union[str, list[str], None]]

FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 5.0
#: The longest pause that an answer can ask for with Retry-After.
RETRY_AFTER_S_MAX = 60.0
CONNECT_S = 10.0
#: A request without a byte of its answer for so long has none. A watch gets a byte
#: every 15 seconds, and no other request waits for longer than client.WAIT_S.
SILENCE_S = 45.0
#: After that time an answer must have arrived at this rate, and it is no larger; for a
#: watch that is the size of one event.
BYTES_PER_S_MIN = 1024
ANSWER_BYTES_MAX = 256 * 1024 * 1024
READ_BYTES = 64 * 1024

_now = time.monotonic


@dataclass
class Request:
    method: str
    path: str
    query: Query = field(default_factory=dict)
    #: JSON text.
    body: Optional[str] = None
    headers: dict[str, str] = field(default_factory=dict)
    #: It may be sent again only under an idempotency key.
    writes: bool = False
    #: It takes a consistency.
    reads: bool = False
    #: The answer is read by the caller, who closes the connection.
    streams: bool = False


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes
    #: Not read yet; its end closes the connection.
    stream: Optional[http.client.HTTPResponse] = None

    def json(self, *members: str) -> Any:
        """The object that the body is, which has these members."""
        try:
            document = read_json(self.body)
        except ValueError:
            document = None
        if not isinstance(document, dict) or not all(name in document for name in members):
            detail = "the answer is not from Kindex: " + _shown(self.body)
            raise KindexError(self.status, {"detail": detail})
        return document


def _shown(text: bytes) -> str:
    return text[:200].decode(errors="replace")


def _error(answer: Answer) -> KindexError:
    try:
        problem = read_json(answer.body)
    except ValueError:  # not from the service, but from something before it
        problem = {"detail": _shown(answer.body)}
    if not isinstance(problem, dict):
        problem = {}
    if answer.status < 400:
        place = answer.headers.get("Location")
        detail = f"the answer {answer.status} sends the request on to {place}"
        problem = {"hint": "give that address to connect()", **problem, "detail": detail}
    return KindexError(answer.status, problem)


def _retry_after(text: Optional[str]) -> float:
    if not text or not (text.isascii() and text.isdigit()):
        return 0.0
    return min(float(text), RETRY_AFTER_S_MAX)


def _position(text: Optional[str]) -> tuple[int, ...]:
    """The numbers of a Kindex-At; without one no numbers, which are less than any."""
    return tuple(map(int, text.split("."))) if text else ()


class _Incoming(io.RawIOBase):
    """The bytes of one answer, with its head. A read raises a KindexError once there
    are more than ANSWER_BYTES_MAX, or if they come too slowly; each wait for one has
    the timeout of the socket."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self._begun = _now()
        self._bytes = 0
        self.endless = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        count = self._raw.readinto(buffer)
        self._bytes += count or 0
        if count and not self.endless:
            self._check()
        return count

    def _check(self) -> None:
        late = _now() - self._begun - SILENCE_S
        if self._bytes < late * BYTES_PER_S_MIN:
            detail = f"the answer came at less than {BYTES_PER_S_MIN} bytes per second"
            raise KindexError(0, {"detail": detail})
        if self._bytes > ANSWER_BYTES_MAX:
            detail = f"the answer has more than {ANSWER_BYTES_MAX} bytes"
            raise KindexError(0, {"detail": detail})

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.incoming = _Incoming(self.fp.detach())
        self.fp = io.BufferedReader(self.incoming)

    def read_all(self) -> bytes:
        """The body, in parts: nothing is allocated for bytes that are only announced."""
        parts = list(iter(lambda: self.read(READ_BYTES), b""))
        if self.length:
            raise http.client.IncompleteRead(b"", self.length)
        return b"".join(parts)


class _Unconnected(Exception):
    """No connection was made; its cause says why."""


def _open(connection: http.client.HTTPConnection) -> None:
    present: Optional[socket.socket] = connection.sock
    if present is not None:
        return
    try:
        connection.connect()
    except OSError as cause:
        raise _Unconnected from cause
    connection.sock.settimeout(SILENCE_S)


class Transport:
    """Any thread; each has a connection for itself."""

    def __init__(
        self,
        url: str,
        token: Token,
        retries: int,
        context: Optional[ssl.SSLContext],
        consistency: Optional[str],
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address such as http://127.0.0.1:4512")
        self._url = url
        self._parts = parts
        self._token = token
        self._retries = retries
        self._context = context
        self._consistency = consistency
        self._answered = False
        #: The greatest Kindex-At of an answer.
        self._at: Optional[str] = None
        self._threads = threading.local()
        self._kept: set[http.client.HTTPConnection] = set()

    def _new(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "http":
            connection = http.client.HTTPConnection(host, port, timeout=CONNECT_S)
        else:
            connection = http.client.HTTPSConnection(
                host, port, timeout=CONNECT_S, context=self._context
            )
        connection.response_class = _Response
        return connection

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        self._threads.connection = connection
        self._kept.add(connection)

    def _drop(self, connection: http.client.HTTPConnection) -> None:
        connection.close()
        self._kept.discard(connection)
        self._threads.connection = None

    def close(self) -> None:
        """Closes the connections of all threads, which must not be in use."""
        while self._kept:
            self._kept.pop().close()

    def _no_answer(self, cause: Optional[BaseException]) -> KindexError:
        error = KindexError(0, {"detail": f"{self._url} does not answer: {cause}"})
        error.__cause__ = cause
        return error

    def send(self, request: Request) -> Answer:
        """The answer if it is a success; raises a KindexError if not. An address that
        has never answered is not asked again if no connection can be made."""
        headers = dict(request.headers)
        if request.writes:
            headers["Idempotency-Key"] = str(uuid.uuid4())
        wait = FIRST_WAIT_S
        for left in range(self._retries, -1, -1):
            retry_after = 0.0
            try:
                answer = self._attempt(request, headers)
                self._answered = True
                self._advance(answer.headers.get("Kindex-At"))
                if 200 <= answer.status < 300:
                    return answer
                error = _error(answer)
                retry_after = _retry_after(answer.headers.get("Retry-After"))
            except _Unconnected as failure:
                error = self._no_answer(failure.__cause__)
                left = left if self._answered else 0
            except (OSError, http.client.HTTPException) as cause:
                error = self._no_answer(cause)
            if left == 0 or error.status not in (0, 429, 503):
                raise error
            time.sleep(max(retry_after, wait * random.uniform(0.5, 1.0)))
            wait = min(wait * 2, LONGEST_WAIT_S)
        raise AssertionError("not reached")

    def _advance(self, at: Optional[str]) -> None:
        if _position(at) > _position(self._at):
            self._at = at

    def _attempt(self, request: Request, headers: dict[str, str]) -> Answer:
        kept = None if request.streams else getattr(self._threads, "connection", None)
        if kept is not None:
            try:
                return self._exchange(kept, request, headers)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                pass  # a kept connection that had ended; a write is under a key
        return self._exchange(self._new(), request, headers)

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        request: Request,
        headers: dict[str, str],
    ) -> Answer:
        given = {name: text for name, text in request.query.items() if text is not None}
        if request.reads and self._consistency is not None:
            given["consistency"] = self._consistency
            if self._consistency == "session" and self._at is not None:
                headers["Kindex-After"] = self._at
        target = self._parts.path.rstrip("/") + request.path
        if given:
            target += "?" + urlencode(given, doseq=True)
        body = None if request.body is None else request.body.encode()
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        if request.streams:
            headers["Connection"] = "close"  # then the answer has the socket
        token = self._token() if callable(self._token) else self._token
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        try:
            _open(connection)
            connection.request(request.method, target, body, headers)
            response = connection.getresponse()
            assert isinstance(response, _Response)
            if request.streams and response.status == 200:
                response.incoming.endless = True
                return Answer(response.status, response.headers, b"", response)
            with response:
                text = response.read_all()
        except BaseException:
            self._drop(connection)
            raise
        if response.will_close:
            self._drop(connection)
        else:
            self._keep(connection)
        return Answer(response.status, response.headers, text)
