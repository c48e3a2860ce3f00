"""The sections of a stream loop: what each reads, gives and keeps. Refuses loops that are no pipelines."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Sequence

from morisot.annotations.syntax.declared import check_declared, check_mark_arguments
from morisot.annotations.syntax.flow import Flow, flow_of, names_in, own_nodes
from morisot.annotations.syntax.refusals import refuse_statements
from morisot.annotations.syntax.sections import AnalysedLoop, Section
from morisot.annotations.syntax.structure import FunctionText, StageBlock, StreamLoop
from morisot.annotations.syntax.uses import uses_of


def analysed(source: FunctionText, loop: StreamLoop) -> AnalysedLoop:
    """The sections of a loop. Raises an error for a loop that is no pipeline."""
    refuse_statements(source, loop)
    outer = _outer_names(source, loop)
    after = _read_after(source, loop)
    head = _head_section(loop)
    set_in_loop = {*head.flow.sets, *(name for stage in loop.stages for name in flow_of(stage.body).sets)}
    check_mark_arguments(source, loop, frozenset(set_in_loop))
    sections = [head, *(_stage_section(stage) for stage in loop.stages)]
    _find_kept(sections, outer, after)
    _refuse_conflicts(source, sections, outer)
    _refuse_feedback(source, sections)
    _refuse_read_after(source, sections, outer, after)
    updates = _head_updates(sections, outer, after)
    _connect(source, sections, outer, updates)
    check_declared(source, loop, sections, outer)
    return AnalysedLoop(loop, tuple(sections), outer, updates)


# -- sections ---------------------------------------------------------------------------------------------------------


def _head_section(loop: StreamLoop) -> Section:
    statements: list[ast.stmt] = list(loop.head)
    node = loop.node
    if isinstance(node, ast.For):
        unset = ast.copy_location(ast.Constant(None), node.target)
        statements.insert(0, ast.copy_location(ast.Assign([node.target], unset), node.target))
    return Section(statements, node.lineno, flow_of(statements), uses_of(loop.head))


def _stage_section(stage: StageBlock) -> Section:
    defined = [] if stage.alias is None else [stage.alias]
    flow = flow_of(stage.body, defined)
    key = stage.arguments.get("key")
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        reads = dict.fromkeys(names_in(ast.parse(key.value, mode="eval").body), key.lineno)
        flow = Flow(reads | flow.reads, flow.sets, flow.certain, flow.ends, flow.drops)
    return Section(stage.body, stage.node.lineno, flow, uses_of(stage.body), stage)


def _outer_names(source: FunctionText, loop: StreamLoop) -> frozenset[str]:
    """The names of the function that may be set before the loop begins, or begins again."""
    arguments = source.node.args
    names = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names |= {each.arg for each in (arguments.vararg, arguments.kwarg) if each is not None}
    names |= set(source.function.__code__.co_freevars) - {"__class__"}
    for statement in _statements_before(source.node.body, loop):
        names |= set(flow_of([statement]).sets)
    for parent in loop.parents:
        if isinstance(parent, ast.For | ast.While):
            outside = [each for each in parent.body if each is not loop.node and each not in loop.parents]
            names |= set(flow_of(outside).sets)
        names |= _bound_by(parent)
    return frozenset(names)


def _bound_by(parent: ast.stmt) -> set[str]:
    """The names that the first line of a compound statement binds."""
    match parent:
        case ast.For(target=target):
            return set(flow_of([ast.Assign([target], ast.Constant(None))]).sets)
        case ast.With(items=items):
            targets = [item.optional_vars for item in items if item.optional_vars is not None]
            return set(flow_of([ast.Assign([each], ast.Constant(None)) for each in targets]).sets)
    return set()


def _statements_before(body: Sequence[ast.stmt], loop: StreamLoop) -> Iterable[ast.stmt]:
    for statement in body:
        if statement is loop.node:
            return
        if statement in loop.parents:
            for name in ("body", "orelse", "finalbody"):
                yield from _statements_before(getattr(statement, name, ()), loop)
            return
        if statement.lineno < loop.node.lineno:
            yield statement


def _read_after(source: FunctionText, loop: StreamLoop) -> dict[str, int]:
    """The names that the function may read after the loop, before it sets them again."""
    after: list[ast.stmt] = []
    found: dict[str, int] = {}
    child: ast.stmt = loop.node
    for parent in (*reversed(loop.parents), source.node):
        after.extend(_following(parent, child))
        if isinstance(parent, ast.For | ast.While):
            found |= flow_of(parent.body).reads
        child = parent
    for node in own_nodes(source.node.body):
        if isinstance(node, ast.FunctionDef | ast.Lambda) and not _is_inside(node, loop.node):
            statement = node if isinstance(node, ast.stmt) else ast.Expr(node)
            found |= flow_of([statement]).reads
    return found | flow_of(after).reads


def _following(parent: ast.AST, child: ast.stmt) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, [])
        if isinstance(block, list) and child in block:
            found += block[block.index(child) + 1 :]
            if isinstance(parent, ast.Try):
                handlers = [each for handler in parent.handlers for each in handler.body]
                found += [*(handlers if name == "body" else []), *(parent.finalbody if name != "finalbody" else [])]
    return found


def _is_inside(node: ast.AST, loop: ast.stmt) -> bool:
    return any(each is node for each in ast.walk(loop))


# -- kept names -------------------------------------------------------------------------------------------------------


def _find_kept(sections: list[Section], outer: frozenset[str], after: dict[str, int]) -> None:
    for number, section in enumerate(sections[1:], 1):
        of_element = {name for earlier in sections[:number] for name in earlier.flow.sets if name not in earlier.keeps}
        for name, line in section.flow.sets.items():
            if name in outer and name not in of_element and _is_kept(name, sections, number, after):
                section.keeps.setdefault(name, line)
        for name, line in (section.uses.assigned | section.uses.changed).items():
            if name in outer and name not in of_element and name not in section.flow.sets:
                section.keeps.setdefault(name, line)


def _is_kept(name: str, sections: list[Section], number: int, after: dict[str, int]) -> bool:
    """Whether the value of a name from before the loop outlives the iteration that sets it in a stage."""
    own = sections[number].flow
    read_before = any(name in section.flow.reads for section in sections[: number + 1])
    read_later = name not in own.certain and any(name in section.flow.reads for section in sections[number + 1 :])
    return read_before or read_later or name in after


def _refuse_conflicts(source: FunctionText, sections: list[Section], outer: frozenset[str]) -> None:
    owners: dict[str, Section] = {}
    for section in sections[1:]:
        updates = _certain_updates(section, outer) if section.replicated else section.keeps
        for name, line in updates.items():
            if section.replicated:
                raise source.refuse(
                    f"a replicated stage updates {name}, which has its value from before the loop",
                    line,
                    f"update {name} in a stage without replicate: it runs once, in order",
                )
            if name in owners:
                raise source.refuse(
                    f"two stages update {name}, which has its value from before the loop",
                    line,
                    "update it in one stage, or keep two names",
                )
            owners[name] = section
        if section.replicated:
            _warn_of_copies(source, section)


def _warn_of_copies(source: FunctionText, section: Section) -> None:
    """Says that a replicated stage changes a copy. The name is then no kept name."""
    for name, line in section.keeps.items():
        message = f"a replicated stage changes {name}, and each worker has a copy of it: the changes are lost"
        warnings.warn_explicit(f"{message}. Change it in a stage without replicate.", RuntimeWarning, source.file, line)
    section.keeps.clear()


def _certain_updates(section: Section, outer: frozenset[str]) -> dict[str, int]:
    """The kept names of a replicated stage that it sets or deletes. Methods work on a copy."""
    changed_only = {name for name in section.uses.changed if name not in section.uses.assigned | section.flow.sets}
    return {name: line for name, line in section.keeps.items() if name in outer and name not in changed_only}


def _refuse_feedback(source: FunctionText, sections: list[Section]) -> None:
    for number, section in enumerate(sections):
        reader = "the head reads" if number == 0 else "a stage reads"
        for later in sections[number + 1 :]:
            for name in later.keeps:
                if name in section.flow.reads and not later.replicated:
                    raise source.refuse(
                        f"{reader} {name}, which a later stage updates (line {later.keeps[name]})",
                        section.flow.reads[name],
                        f"read {name} in the stage that updates it or in a later one: elements are ahead of it here",
                    )


def _refuse_read_after(
    source: FunctionText, sections: list[Section], outer: frozenset[str], after: dict[str, int]
) -> None:
    for section in sections:
        for name, line in section.flow.sets.items():
            if name in after and name not in outer:
                raise source.refuse(
                    f"{name} is set in the loop only and read after it (line {after[name]})",
                    line,
                    f"set {name} before the loop, and update it in a stage without replicate",
                )
            if name in after and section.block is not None and name not in section.keeps:
                raise source.refuse(
                    f"{name} is set by the head or an earlier stage and again here, and read after the loop",
                    line,
                    "give the last value a name of its own, set before the loop and updated in one stage",
                )


def _head_updates(sections: list[Section], outer: frozenset[str], after: dict[str, int]) -> frozenset[str]:
    flow = sections[0].flow
    return frozenset(
        name
        for name in flow.sets
        if name in outer and (name in flow.reads or name in after or name not in flow.certain)
    )


# -- elements ---------------------------------------------------------------------------------------------------------


def _connect(source: FunctionText, sections: list[Section], outer: frozenset[str], updates: frozenset[str]) -> None:
    """Finds the names of the element between sections: those a later section may read before it sets them."""
    made: list[list[str]] = []
    known: set[str] = set()
    order: list[str] = []
    for number, section in enumerate(sections):
        _refuse_unset(source, section, sections[:number], known, outer)
        flow = section.flow
        new = {*flow.certain, *section.keeps, *(updates if number == 0 else ())} - (
            {section.block.alias} if section.block else set()
        )
        order += [name for name in (*flow.sets, *section.keeps) if name in new and name not in order]
        known |= new & set(order)
        made.append([name for name in order if name in known])
    for number in range(len(sections) - 1):
        wanted = _wanted(sections[number + 1 :])
        sections[number].outputs = tuple(name for name in made[number] if name in wanted)
        sections[number + 1].inputs = sections[number].outputs
    for section in sections:
        names = set(section.flow.reads) | (set(section.flow.sets) & set(section.keeps))
        section.constants = frozenset(names & outer) - set(section.inputs) - set(section.keeps)


def _wanted(sections: Sequence[Section]) -> set[str]:
    """The names that the first of some sections must get."""
    wanted: set[str] = set()
    for section in reversed(sections):
        passed = wanted - section.flow.certain - set(section.keeps)
        wanted = passed | (set(section.flow.reads) - set(section.keeps))
    return wanted


def _refuse_unset(
    source: FunctionText, section: Section, earlier: Sequence[Section], known: set[str], outer: frozenset[str]
) -> None:
    for name, line in section.flow.reads.items():
        set_earlier = any(name in each.flow.sets for each in earlier)
        set_in_loop = set_earlier or name in section.flow.sets
        if set_in_loop and name not in known and name not in outer:
            raise source.refuse(
                f"{name} may be read before it is set in its own iteration",
                line,
                f"set {name} on every path, in the head or in a stage before; to keep a value, set it before the loop",
            )
