"""What users may rely on, as text: `python -m tests.house.public_api` writes public_api.txt again.

Names with signatures, the keys of metrics, and the names of settings. Module names are not in it: those may change.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import morisot as mo
from morisot import config
from morisot.api import agg, base, output
from morisot.api.joins import builder
from morisot.api.methods import kafka
from morisot.compile import verdict
from morisot.engines.spark.streaming.job import Job
from morisot.errors import Location
from morisot.physical.explain import FormRecord
from morisot.plan.nodes import sink
from morisot.plan.nodes import source as source_nodes
from morisot.runtime import metrics
from morisot.testing import plugin
from morisot.types import moments
from morisot.viz.picture import Picture
from morisot.worker.loops.state import LoopState

FILE = Path(__file__).with_name("public_api.txt")
COMMAND = "python -m tests.house.public_api"

ALL = {name: getattr(mo, name) for name in mo.__all__}
MODULES = {"morisot": mo, "morisot.agg": agg, "morisot.testing": mo.testing}
RETURNED = (
    Job,
    builder.JoinBuilder,
    builder.ShippedJoin,
    builder.LocalJoin,
    LoopState,
    Location,
    FormRecord,
    Picture,
    output.NotRunYet,
    output.ChannelClosed,
)
"""What methods give or raise that has no name in a module of users."""
METRICS: tuple[Any, ...] = (
    metrics.JobMetrics,
    metrics.SinkMetrics,
    metrics.CountedSinkMetrics,
    metrics.BoundedSinkMetrics,
    metrics.OperatorMetrics,
    metrics.BatchSeconds,
    metrics.StateMetrics,
    metrics.ContextMetrics,
    metrics.LoopMetrics,
)
NOT_MADE_BY_USERS: tuple[type, ...] = (
    mo.Stream,
    mo.KeyedStream,
    mo.WindowedStream,
    mo.KeyedWindowedStream,
    mo.Channel,
    mo.Inlet,
    mo.Output,
    mo.EventTimeWindow,
    mo.ProcessingTimeWindow,
)
NOT_FOR_USERS: dict[type, set[str]] = {
    mo.StreamContext: {"add_sink", "calling", "check", "engine", "handing_over", "keyed", "plain", "without_snapshots"},
    mo.Channel: {"ask_for_failure", "close", "lift_limit", "put_all"},
    mo.Output: {"fill"},
    mo.Snapshots: {"split_seconds", "seconds"},
    LoopState: {"clear", "set"},
    **{cls: {"local", "make", "ship"} for cls in RETURNED[1:4]},
    **{cls: {"kind", "shape"} for name, cls in ALL.items() if inspect.isclass(cls) and name.endswith("Window")},
    mo.LastK: {"kind"},
    mo.PlanError: {"locate"},
}
"""What other parts of Morisot call."""
INSTANCES: dict[type, Any] = {
    mo.StreamContext: mo.StreamContext(engine="reference"),
    mo.ElementError: mo.ElementError("map", None, "1", "ValueError"),
    mo.PlanError: mo.PlanError("what"),
    mo.SnapshotError: mo.SnapshotError("what"),
}
"""Those that have attributes which their class does not tell."""
ALIASES = {
    "Duration": moments.Duration,
    "Form": verdict.Form,
    "OnError": base.OnError,
    "OnError of stream_csv and stream_json": source_nodes.OnError,
    "PathLike": base.PathLike,
    "WriteMode": sink.WriteMode,
}
"""What signatures name."""
_SPECIAL = {"__call__", "__enter__", "__exit__", "__iter__", "__len__"}
_BEFORE_KEYWORDS = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY}
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_OWN_MODULE = re.compile(r"\bmorisot(\.\w+)*\.(?=\w)")


def text() -> str:
    """All of it."""
    sections: list[tuple[str, Iterable[str]]] = [
        (f"module {name}", module_lines(module)) for name, module in MODULES.items()
    ]
    sections.append(("returned by methods", (line for cls in RETURNED for line in class_lines(cls.__name__, cls))))
    sections.append(("aliases", (f"{name} = {_alias(value)}" for name, value in ALIASES.items())))
    sections.append(("options of stream_kafka", metrics_lines(kafka.Reading)))
    sections.append(("fixtures of morisot.testing.plugin", fixture_lines()))
    sections.append(("metrics", (line for cls in METRICS for line in metrics_lines(cls))))
    sections.append(("settings: field, environment variable, key in TOML, argument", setting_lines()))
    return "\n\n".join("\n".join([f"# {title}", *lines]) for title, lines in sections) + "\n"


def module_lines(module: Any) -> Iterator[str]:
    for name in sorted(module.__all__):
        value = getattr(module, name)
        if inspect.isclass(value):
            yield from class_lines(name, value)
        elif inspect.isfunction(value):
            yield from function_lines(name, value)
        elif inspect.ismodule(value):
            yield f"module {name}"
        elif typing.get_origin(value) is not None:
            yield f"{name} = {_alias(value)}"
        else:
            yield f"{name}: {type(value).__name__}"


def class_lines(name: str, cls: type) -> Iterator[str]:
    """A class, how it is made, and what it has."""
    bases = [each.__name__ for each in cls.__bases__ if each.__name__ in {*mo.__all__, "Exception", "tuple"}]
    yield f"class {name}({', '.join(bases)})" if bases else f"class {name}"
    if cls not in (*RETURNED, *NOT_MADE_BY_USERS):
        yield f"    {_signature('__init__', cls)}"
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    fields |= set(getattr(cls, "_fields", ()))
    attributes = vars(INSTANCES[cls]) if cls in INSTANCES else ()
    members = {*fields, *_members(cls), *(name for name in attributes if not name.startswith("_"))}
    for member in sorted(members - NOT_FOR_USERS.get(cls, set())):
        yield from (f"    {line}" for line in _member_lines(cls, member))


def _members(cls: type) -> Iterator[str]:
    """The public names of a class that Morisot, and not Python, gave it."""
    for name in dir(cls):
        home = next((each for each in cls.__mro__ if name in vars(each)), object)
        is_ours = home.__module__.partition(".")[0] == "morisot"
        is_named_tuples = name in {"count", "index"} and issubclass(cls, tuple)
        if is_ours and not is_named_tuples and (name in _SPECIAL or not name.startswith("_")):
            yield name


def _member_lines(cls: type, name: str) -> Iterator[str]:
    value = inspect.getattr_static(cls, name, None)
    match value:
        case property():
            yield f"{name}: {_annotation(inspect.signature(value.fget).return_annotation)}"  # type: ignore[arg-type]
        case staticmethod() | classmethod():
            yield f"{type(value).__name__} {_signature(name, getattr(cls, name))}"
        case _ if inspect.isfunction(value):
            yield from function_lines(name, value)
        case _:
            annotation = inspect.get_annotations(cls).get(name)
            yield f"{name}: {_annotation(annotation)}" if annotation is not None else name


def function_lines(name: str, function: Any) -> Iterator[str]:
    """A function, or each of its overloads."""
    for each in typing.get_overloads(function) or [function]:
        yield _signature(name, each)


def _signature(name: str, function: Any) -> str:
    try:
        signature = inspect.signature(function)
    except ValueError:  # an exception that is made as Python makes them
        return f"{name}(*args)"
    result = signature.return_annotation
    returns = "" if result is inspect.Signature.empty or inspect.isclass(function) else f" -> {_annotation(result)}"
    return f"{name}({', '.join(_parameters(signature.parameters.values()))}){returns}"


def _parameters(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    previous: Any = None
    for each in parameters:
        if previous == inspect.Parameter.POSITIONAL_ONLY != each.kind:
            yield "/"
        if each.kind == inspect.Parameter.KEYWORD_ONLY and previous not in _BEFORE_KEYWORDS:
            yield "*"
        previous = each.kind
        stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(each.kind.name, "")
        annotation = "" if each.annotation is inspect.Parameter.empty else f": {_annotation(each.annotation)}"
        default = "" if each.default is inspect.Parameter.empty else f" = {_plain(repr(each.default))}"
        yield f"{stars}{each.name}{annotation}{default}"
    if previous == inspect.Parameter.POSITIONAL_ONLY:
        yield "/"


def _annotation(annotation: Any) -> str:
    shown = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _plain(shown)


def _alias(value: Any) -> str:
    """A type, written the same way by every version of Python."""
    if typing.get_origin(value) in {typing.Union, types.UnionType}:
        return " | ".join(map(_alias, typing.get_args(value)))
    return _annotation(value)


def _plain(said: str) -> str:
    """Without addresses in memory, and without the modules that names come from."""
    plain = re.sub(r"ForwardRef\('([^']*)'\)", r"\1", _OWN_MODULE.sub("", _ADDRESS.sub("", said)))
    return re.sub(r"(typing\.|~|collections\.abc\.)", "", plain)


def metrics_lines(cls: Any) -> Iterator[str]:
    yield cls.__name__
    for name, annotation in typing.get_type_hints(cls).items():
        yield f"    {name}: {_annotation(annotation)}"


def fixture_lines() -> Iterator[str]:
    yield from sorted(
        name for name, value in vars(plugin).items() if type(value).__name__ == "FixtureFunctionDefinition"
    )


def setting_lines() -> Iterable[str]:
    for field in dataclasses.fields(mo.Config):
        default = field.default if field.default is not dataclasses.MISSING else "{}"
        variable, argument = f"MORISOT_{field.name.upper()}", f"--{field.name.replace('_', '-')}"
        yield f"{field.name}: {field.type} = {default!r}; {variable}; {field.name}; {argument}"
    yield "(a file of settings): MORISOT_CONFIG; --config"
    yield f"engines: {', '.join(config.ENGINES)}"
    yield f"packages by name: {', '.join(config.CONNECTORS)}"


def main() -> None:
    FILE.write_text(text(), encoding="utf-8")
    print(f"{FILE.name} has {len(FILE.read_text(encoding='utf-8').splitlines())} lines")


if __name__ == "__main__":
    main()
