"""Settings of Kafka clients contain passwords, which must not appear in messages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import WriteKafka
from morisot.plan.nodes.source import StreamKafka

_HARMLESS = re.compile(r"true|false|\d*", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"]*)"')
_HIDDEN = "…"


def without_secrets(text: str, nodes: Iterable[Node]) -> str:
    """A message of Spark or Kafka without the values of the user's settings, and without texts quoted inside them.

    >>> from morisot.errors import Location
    >>> from morisot.types.element import STR
    >>> login = {"sasl.jaas.config": 'PlainLoginModule required password="tulip";'}
    >>> node = StreamKafka("host:9092", ("t",), settings=login, type=STR, location=Location("p.py", 1))
    >>> without_secrets("no login with tulip", [node])
    'no login with …'
    """
    for node in nodes:
        if isinstance(node, StreamKafka | WriteKafka):
            for value in node.settings.values():
                for secret in (value, *_QUOTED.findall(value)):
                    if not _HARMLESS.fullmatch(secret):
                        text = text.replace(secret, _HIDDEN)
    return text
