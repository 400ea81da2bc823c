from __future__ import annotations

from typing import Optional

from .values import JSON, KeyPart, from_key


class KindexError(Exception):
    """What the service answered in place of a result. ``code`` is stable, and
    ``GET /problems/{code}`` explains it; without an answer it is ``no-answer``, and
    ``status`` 0. ``problem`` has all members of the problem document (RFC 9457)."""

    def __init__(self, status: int, problem: JSON) -> None:
        super().__init__(problem.get("detail") or problem.get("title") or f"status {status}")
        self.status = status
        self.problem = problem
        self.code: str = problem.get("code", "no-answer")
        self.hint: Optional[str] = problem.get("hint")

    def _key(self, name: str) -> Optional[tuple[KeyPart, ...]]:
        parts = self.problem.get(name)
        return from_key(parts) if isinstance(parts, list) else None

    @property
    def index(self) -> Optional[str]:
        """unique-violation, index-...: the index concerned."""
        return self.problem.get("index")

    @property
    def value(self) -> Optional[tuple[KeyPart, ...]]:
        """unique-violation: the field values that are in use."""
        return self._key("value")

    @property
    def existing_key(self) -> Optional[tuple[KeyPart, ...]]:
        """unique-violation: the key of the entry that has the value."""
        return self._key("existingKey")

    @property
    def attempted_key(self) -> Optional[tuple[KeyPart, ...]]:
        """unique-violation, not-indexable: the key of the entry that was refused."""
        return self._key("attemptedKey")

    @property
    def failed_checks(self) -> list[JSON]:
        """check-failed: every check that failed."""
        checks: list[JSON] = self.problem.get("failedChecks", [])
        return [
            {**check, "key": from_key(check["key"])} if "key" in check else check
            for check in checks
        ]
