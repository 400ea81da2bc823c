"""Requests over kept connections, sent again where that may help."""

from __future__ import annotations

import http.client
import json
import random
import ssl
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Union
from urllib.parse import urlencode, urlsplit

from .error import KindexError

Token = Union[str, Callable[[], str], None]

FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 5.0
# The service sends something at least every 15 seconds, also to a watch.
SILENCE_S = 45.0


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, Optional[str]] = field(default_factory=dict)
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    #: It may be sent again only under an idempotency key.
    writes: bool = False
    #: The answer is read by the caller, who closes the connection.
    streams: bool = False


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes
    #: Not read yet; its end closes the connection.
    stream: Optional[http.client.HTTPResponse] = None

    def json(self) -> Any:
        return json.loads(self.body)


def _error(status: int, text: bytes) -> KindexError:
    try:
        problem = json.loads(text)
    except ValueError:  # not from the service, but from something before it
        problem = {"detail": text[:200].decode(errors="replace")}
    return KindexError(status, problem if isinstance(problem, dict) else {})


def _seconds(text: Optional[str]) -> float:
    return float(text) if text and text.isdigit() else 0.0


class Transport:
    """Any thread; each has a connection for itself."""

    def __init__(
        self,
        url: str,
        token: Token,
        retries: int,
        context: Optional[ssl.SSLContext],
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address such as http://127.0.0.1:4512")
        self._url = url
        self._parts = parts
        self._token = token
        self._retries = retries
        self._context = context
        self._threads = threading.local()
        self._kept: set[http.client.HTTPConnection] = set()

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=SILENCE_S)
        return http.client.HTTPSConnection(
            host, port, timeout=SILENCE_S, context=self._context
        )

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

    def send(self, request: Request) -> Answer:
        """The answer if it is a success; raises a KindexError if not."""
        headers = dict(request.headers)
        if request.writes:
            headers["Idempotency-Key"] = str(uuid.uuid4())
        wait = FIRST_WAIT_S
        for left in range(self._retries, -1, -1):
            retry_after = 0.0
            try:
                answer = self._attempt(request, headers)
                if answer.status < 400:
                    return answer
                error = _error(answer.status, answer.body)
                retry_after = _seconds(answer.headers.get("Retry-After"))
            except (OSError, http.client.HTTPException) as cause:
                error = KindexError(0, {"detail": f"{self._url} does not answer: {cause}"})
                error.__cause__ = cause
            if left == 0 or error.status not in (0, 429, 503):
                raise error
            time.sleep(max(retry_after, wait * random.uniform(0.5, 1.0)))
            wait = min(wait * 2, LONGEST_WAIT_S)
        raise AssertionError("not reached")

    def _attempt(self, request: Request, headers: dict[str, str]) -> Answer:
        kept = None if request.streams else getattr(self._threads, "connection", None)
        if kept is not None:
            try:
                return self._exchange(kept, request, headers)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                pass  # a kept connection that had ended; a write is under a key
        return self._exchange(self._connect(), request, headers)

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        request: Request,
        headers: dict[str, str],
    ) -> Answer:
        given = {name: text for name, text in request.query.items() if text is not None}
        target = self._parts.path.rstrip("/") + request.path
        if given:
            target += "?" + urlencode(given)
        body = None if request.body is None else json.dumps(request.body).encode()
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        if request.streams:
            headers["Connection"] = "close"  # then the answer has the socket
        token = self._token() if callable(self._token) else self._token
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        try:
            connection.request(request.method, target, body, headers)
            response = connection.getresponse()
            if request.streams and response.status < 400:
                return Answer(response.status, response.headers, b"", response)
            text = response.read()
        except BaseException:
            self._drop(connection)
            raise
        if response.will_close:
            self._drop(connection)
        else:
            self._keep(connection)
        return Answer(response.status, response.headers, text)
