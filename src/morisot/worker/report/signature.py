"""Messages from a worker to the driver inside an exception's text, signed with a key of the job.

Spark hands the driver an exception of a worker as text. That text, and the plans that Spark quotes beside it, may
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
    """The key of one job. It travels inside the pickled task and never in a plan, which errors quote."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def sealed(self, message: dict[str, Any]) -> str:
        """The message, made of JSON's values, as signed text."""
        payload = base64.b64encode(json.dumps(message).encode())
        return f"{_MARK}{payload.decode()}:{self._signature(payload)}"

    def messages(self, text: str) -> Iterator[dict[str, Any]]:
        """The messages in a text that this job's tasks have signed; whatever else looks like one is passed over."""
        for found in _FOUND.finditer(text):
            payload = found[1].encode()
            if hmac.compare_digest(self._signature(payload), found[2]):
                yield json.loads(base64.b64decode(payload))

    def _signature(self, payload: bytes) -> str:
        return hmac.new(self.key, payload, hashlib.sha256).hexdigest()
