"""Messages from a worker to the driver in the text of an exception, signed with a key of the job.

Spark passes an exception of a worker to the driver as text. That text, and the plans that Spark quotes in it, may
contain data. So the driver reads a message only if its signature proves that a task of the same job wrote it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_MARK = "MORISOT-MESSAGE:"
_FOUND = re.compile(re.escape(_MARK) + r"([A-Za-z0-9+/=]+):([0-9a-f]{64})")


@dataclass(frozen=True)
class Seal:
    """The key of one job. It is part of the pickled task, and never of a plan, because errors quote plans."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def sealed(self, message: dict[str, Any]) -> str:
        """The message, which consists of JSON values, as signed text."""
        payload = base64.b64encode(json.dumps(message).encode())
        return f"{_MARK}{payload.decode()}:{self._signature(payload)}"

    def messages(self, text: str) -> Iterator[dict[str, Any]]:
        """The messages in a text that tasks of this job have signed. Other text is ignored."""
        for found in _FOUND.finditer(text):
            payload = found[1].encode()
            if hmac.compare_digest(self._signature(payload), found[2]):
                yield json.loads(base64.b64decode(payload))

    def _signature(self, payload: bytes) -> str:
        return hmac.new(self.key, payload, hashlib.sha256).hexdigest()
