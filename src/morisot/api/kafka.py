"""Checks of the arguments of Kafka sources and sinks, with errors at the user's line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from morisot.api.location import caller
from morisot.errors import PlanError
from morisot.types import infer
from morisot.types.element import BYTES, DATETIME, INT, STR, Optional, Record, Type
from morisot.types.kafka import KafkaRecord

_SERVER = re.compile(r"[^\s,]+:\d{1,5}")
_TOPIC = re.compile(r"(?!\.{1,2}$)[\w.-]{1,249}", re.ASCII)
_SETTING = re.compile(r"[a-z0-9][a-z0-9._-]*")
_OWN = frozenset(
    {
        "auto.offset.reset",
        "bootstrap.servers",
        "enable.auto.commit",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "value.deserializer",
        "value.serializer",
    }
)
"""Settings that the connector sets itself."""


# -- servers, topics, settings ----------------------------------------------------------------------------------------


def checked_servers(servers: Any, operator: str) -> str:
    """The addresses, separated by commas, as Kafka requires them."""
    given = several([each.strip() for each in servers.split(",")] if isinstance(servers, str) else servers)
    if not given or not all(isinstance(each, str) and _SERVER.fullmatch(each) for each in given):
        raise PlanError(
            f"{operator} needs the addresses of Kafka's servers, not {servers!r}",
            location=caller(),
            advice='give host and port: "localhost:9092", or a list of several',
        )
    return ",".join(given)


def checked_topics(topic: Any, operator: str) -> tuple[str, ...]:
    """The names of topics, each once."""
    given = several(topic)
    if not given:
        raise PlanError(f"{operator} needs a topic", location=caller(), advice="name one, or a list of several")
    for each in given:
        if not isinstance(each, str) or not _TOPIC.fullmatch(each):
            raise PlanError(
                f"{operator} cannot use {each!r} as the name of a topic",
                location=caller(),
                advice="give the name, or a list of names: letters, digits, '.', '_' and '-', at most 249 of them",
            )
    return tuple(dict.fromkeys(given))


def several(given: Any) -> list[Any]:
    """One argument or several, as a list."""
    return [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)


def checked_settings(options: Mapping[Any, Any] | None, operator: str) -> dict[str, str]:
    """The settings of the Kafka client by Kafka's names. Values are never part of a message."""
    if options is not None and not isinstance(options, Mapping):
        raise PlanError(
            f"the options of {operator} are a dict, not {type(options).__name__}",
            location=caller(),
            advice="for example options={'security.protocol': 'SSL'}",
        )
    settings: dict[str, str] = {}
    for name, value in (options or {}).items():
        plain = name.removeprefix("kafka.") if isinstance(name, str) else ""
        if not _SETTING.fullmatch(plain):
            raise PlanError(
                f"{name!r} in the options of {operator} is no setting of Kafka's clients",
                location=caller(),
                advice="use Kafka's own names, such as security.protocol and sasl.jaas.config; "
                "options of Spark's connector are arguments here",
            )
        if plain in _OWN:
            raise PlanError(
                f"{operator} sets {plain} itself: it cannot be among its options",
                location=caller(),
                advice="remove it",
            )
        settings[plain] = str(value).lower() if isinstance(value, bool) else str(value)
    return settings


def checked_starting(starting: str, operator: str, unbounded: bool) -> None:
    """Raises an error for an invalid start, or for one after which a bounded stream has no records."""
    if starting not in ("earliest", "latest"):
        raise PlanError(f"starting is {starting!r}: give 'earliest' or 'latest'", location=caller())
    if starting == "latest" and not unbounded:
        raise PlanError(
            f"{operator} reads the records that the topic has when the job starts: there are none after the latest",
            location=caller(),
            advice="remove starting=, or pass unbounded=True to follow the topic",
        )


# -- reading ----------------------------------------------------------------------------------------------------------


def element_type(record: bool, key: Any, value: Any) -> Type:
    """The type of the elements: the value, or a record, whose key may be None by default."""
    value_type = checked_part(value, "value", "stream_kafka")
    if not record:
        if key is not None:
            raise PlanError(
                "stream_kafka reads the values only: key= is the type of the key of a record",
                location=caller(),
                advice="pass record=True to get mo.KafkaRecord elements",
            )
        return value_type
    key_type = Optional(STR) if key is None else checked_part(key, "key", "stream_kafka")
    return Record(KafkaRecord, KafkaRecord._fields, (key_type, value_type, STR, INT, INT, DATETIME))


def checked_part(annotation: Any, part: str, operator: str) -> Type:
    """The declared type of a key or a value."""
    type_ = infer.of_annotation(annotation)
    if not is_text(type_):
        raise PlanError(
            f"the {part} of {operator} cannot be {annotation!r}",
            location=caller(),
            advice=f"pass {part}=str or {part}=bytes, or `… | None` if it may be missing; convert it with map(…)",
        )
    return type_


def is_text(type_: Type) -> bool:
    """Whether Kafka can store values of the type: str as UTF-8, bytes unchanged, None as null."""
    return infer.without_none(type_) in (STR, BYTES)


# -- writing ----------------------------------------------------------------------------------------------------------


def refuse_part(type_: Type, part: str, advice: str) -> None:
    """Raises an error for a type that is neither str nor bytes."""
    if not is_text(type_):
        raise PlanError(f"write_kafka writes str or bytes, and the {part} is {type_}", location=caller(), advice=advice)


def encoding(function: Callable[..., Any]) -> Callable[..., bytes | None]:
    """The function with its result converted to bytes, if it is unknown whether that is str or bytes."""

    def encoded(*element: Any) -> bytes | None:
        found = function(*element)
        if found is None or isinstance(found, bytes):
            return found
        if isinstance(found, str):
            return found.encode()
        raise TypeError(f"write_kafka writes str or bytes, and the function gave {found!r} ({type(found).__name__})")

    return encoded


ENCODED = Optional(BYTES)
"""The result type of `encoding`."""


def pairing(
    key: Callable[..., Any] | None, value: Callable[..., Any] | None, *, keyed: bool
) -> Callable[..., tuple[Any, Any]]:
    """One function for the key and the value of a record. A part without a function is taken from the element.

    It is written as a lambda, so that it has a column form if both functions have one.
    """
    if keyed:
        own_key, own_value = key or _first, value or _second
        return lambda k, v: (own_key(k, v), own_value(k, v))
    assert key is not None, "the records of a plain stream have no key of their own"
    given, made = key, value or _itself
    return lambda element: (given(element), made(element))


def _itself(element: Any) -> Any:
    return element


def _first(key: Any, _: Any) -> Any:
    return key


def _second(_: Any, value: Any) -> Any:
    return value
