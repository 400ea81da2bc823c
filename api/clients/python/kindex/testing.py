"""An empty store for a test."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from typing import Any, Iterator, Sequence

from .client import Kindex


@contextlib.contextmanager
def kindex_for_tests(
    program: str = "kindex", args: Sequence[str] = (), **options: Any
) -> Iterator[Kindex]:
    """A client of a separate server (``kindex serve --ephemeral``), which ends with the
    block; its store is gone then. ``program`` is the server, ``args`` are further options
    of ``kindex serve``, and ``options`` those of ``connect``."""
    command = [program, "serve", "--ephemeral", *args]
    with tempfile.TemporaryFile() as said:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said)
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            if not line:
                said.seek(0)
                raise RuntimeError(f"{program} did not start: {said.read().decode(errors='replace')}")
            with Kindex(json.loads(line)["url"], **options) as db:
                yield db
        finally:
            server.terminate()
            server.communicate()
