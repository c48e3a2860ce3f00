"""The arguments of marks: constants where they must be, and declared inputs and outputs against the data flow."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import get_args

from morisot.annotations.marks import Resume, Send
from morisot.annotations.syntax.flow import names_in
from morisot.annotations.syntax.sections import Section
from morisot.annotations.syntax.structure import FunctionText, StageBlock, StreamLoop

_STAGE = (
    "inputs",
    "outputs",
    "replicate",
    "send",
    "key",
    "on_init",
    "on_exit",
    "on_snapshot",
    "on_error",
    "last_committed",
)
_STREAM = ("inputs", "outputs", "resume")


def check_mark_arguments(source: FunctionText, loop: StreamLoop, set_in_loop: frozenset[str]) -> None:
    """Raises an error for arguments of the marks of a loop that are unknown or invalid."""
    _check_names(source, loop.call, _STREAM, "to_stream")
    _check_choice(source, loop.arguments.get("resume"), "resume", get_args(Resume))
    for stage in loop.stages:
        _check_names(source, stage.call, _STAGE, "stage")
        _check_stage(source, stage)
        for name, value in stage.arguments.items():
            early = sorted(names_in(value) & set_in_loop)
            if early:
                raise source.refuse(
                    f"{name} of a stage reads {early[0]}, which the loop sets: it is evaluated once, before the loop",
                    value,
                    'use names from before the loop; `key` is text: key="event.user"',
                )


def _check_names(source: FunctionText, call: ast.Call, known: Sequence[str], mark: str) -> None:
    for keyword in call.keywords:
        if keyword.arg not in known:
            raise source.refuse(
                f"{mark} has no argument {'**' if keyword.arg is None else keyword.arg}",
                call,
                f"it has {', '.join(known)}",
            )


def _check_choice(source: FunctionText, value: ast.expr | None, name: str, known: Sequence[str]) -> None:
    if value is not None and not (isinstance(value, ast.Constant) and value.value in known):
        raise source.refuse(
            f"{name} is {ast.unparse(value)}", value, f"give {' or '.join(repr(each) for each in known)}"
        )


def _check_stage(source: FunctionText, stage: StageBlock) -> None:
    given = stage.arguments
    _check_choice(source, given.get("send"), "send", get_args(Send))
    send = given.get("send")
    kind = send.value if isinstance(send, ast.Constant) else "on_demand"
    key = given.get("key")
    if kind == "affinity" and key is None:
        raise source.refuse('send="affinity" needs a key', stage.call, 'name what stays at a replica: key="event.user"')
    if key is not None and kind != "affinity":
        raise source.refuse('a key is for send="affinity"', key, 'add send="affinity", or remove the key')
    if key is not None:
        _check_key(source, key)
    if "send" in given and not stage.replicated:
        raise source.refuse("send is for replicated stages", stage.call, "add replicate=, or remove send")
    replicate = given.get("replicate")
    number = replicate.value if isinstance(replicate, ast.Constant) else None
    invalid = number is not None and (type(number) is not int or number < 1)
    if replicate is not None and (invalid or isinstance(replicate, ast.UnaryOp)):
        raise source.refuse(f"replicate is {ast.unparse(replicate)}", replicate, "give a whole number of 1 or more")


def _check_key(source: FunctionText, key: ast.expr) -> None:
    text = key.value if isinstance(key, ast.Constant) else None
    try:
        if not isinstance(text, str):
            raise SyntaxError
        ast.parse(text, mode="eval")
    except SyntaxError:
        raise source.refuse(
            f"the key {ast.unparse(key)} is no expression as text", key, 'write key="event.user"'
        ) from None


# -- declared names ---------------------------------------------------------------------------------------------------


def check_declared(source: FunctionText, loop: StreamLoop, sections: Sequence[Section], outer: frozenset[str]) -> None:
    """Compares declared inputs and outputs with the data flow."""
    kept = {name for section in sections for name in section.keeps}
    before: tuple[set[str], str] | None = _check_head(source, loop, sections, outer)
    for number, section in enumerate(sections[1:], 1):
        assert section.block is not None
        inputs = declared_names(source, section.block.arguments.get("inputs"))
        if inputs is not None:
            _check_inputs(source, section, inputs, sections[:number], kept, outer)
            if before is not None and before[0] - kept != inputs - kept:
                raise source.refuse(
                    f"the stage takes {_listed(inputs)}, and {before[1]} gives {_listed(before[0])}",
                    section.block.call,
                    "make inputs= and the outputs= before it the same, or remove one of them",
                )
        outputs = declared_names(source, section.block.arguments.get("outputs"))
        if outputs is not None:
            _check_outputs(source, section.block.call, section, outputs, sections[number + 1 :])
        before = None if outputs is None else (outputs, "the stage before")


def _check_head(
    source: FunctionText, loop: StreamLoop, sections: Sequence[Section], outer: frozenset[str]
) -> tuple[set[str], str] | None:
    inputs = declared_names(source, loop.arguments.get("inputs"))
    for name in sorted((inputs or set()) - outer):
        raise source.refuse(
            f"to_stream names the input {name}, which has no value before the loop", loop.call, "correct inputs="
        )
    outputs = declared_names(source, loop.arguments.get("outputs"))
    if outputs is None:
        return None
    _check_outputs(source, loop.call, sections[0], outputs, sections[1:])
    return outputs, "the head"


def _check_inputs(
    source: FunctionText,
    section: Section,
    inputs: set[str],
    earlier: Sequence[Section],
    kept: set[str],
    outer: frozenset[str],
) -> None:
    assert section.block is not None
    made = {name for each in earlier for name in each.flow.sets}
    for name in sorted(inputs - made - kept - outer):
        raise source.refuse(
            f"the stage names the input {name}, which no earlier section makes", section.block.call, "correct inputs="
        )
    for name in sorted((set(section.flow.reads) & set(section.inputs)) - inputs - kept):
        raise source.refuse(
            f"the stage reads {name}, which is not among its inputs", section.flow.reads[name], "add it to inputs="
        )


def _check_outputs(
    source: FunctionText, call: ast.Call, section: Section, outputs: set[str], later: Sequence[Section]
) -> None:
    read = {name for each in later for name in each.flow.reads}
    for name in sorted(outputs - read - set(section.keeps)):
        raise source.refuse(f"the output {name} is read by no later stage", call, "remove it from outputs=, or read it")
    for name in sorted(set(section.flow.sets) & set(section.outputs) - outputs):
        raise source.refuse(
            f"a later stage reads {name}, which is not among the outputs", section.flow.sets[name], "add it to outputs="
        )


def declared_names(source: FunctionText, value: ast.expr | None) -> set[str] | None:
    """The names of `inputs=` or `outputs=`; None if they are not given."""
    if value is None:
        return None
    try:
        found = ast.literal_eval(value)
    except ValueError:
        found = None
    names = [each.strip() for each in found.split(",")] if isinstance(found, str) else found
    if not isinstance(names, list | tuple) or not all(isinstance(each, str) and each.isidentifier() for each in names):
        raise source.refuse(
            f"{ast.unparse(value)} does not name inputs or outputs", value, 'write "a, b" or ("a", "b")'
        )
    return set(names)


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
