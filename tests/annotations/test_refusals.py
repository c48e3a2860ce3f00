"""Each refusal of `@mo.pipeline`, by its text, its line and its advice. The line is marked `# here`."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path
from typing import Any

import pytest

import morisot as mo


def load(directory: Path, text: str) -> Any:
    """The module of a program."""
    file = directory / "program.py"
    file.write_text(textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location("program_of_test", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def function(body: str, parameters: str = "xs") -> str:
    """A program with one pipeline. Its body is indented by four spaces."""
    lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return f"import morisot as mo\n@mo.pipeline\ndef f({parameters}):\n{lines}\n"


REFUSED = {
    "no stream loop": (
        "import morisot as mo\n@mo.pipeline\ndef f(xs):  # here\n    return sum(xs)\n",
        "f is decorated with @mo.pipeline and has no stream loop",
        "mark the loop that becomes the source",
    ),
    "no stage": (
        function("for x in mo.to_stream(xs):  # here\n    print(x)"),
        "a stream loop has no stage",
        "mark at least one block",
    ),
    "code between stages": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage():
                    y = x + 1
                z = y  # here
                with mo.stage():
                    print(z)
        """),
        "there is code between stages",
        "move it into a stage, or before the first stage",
    ),
    "code behind the last stage": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage():
                    y = x + 1
                print(y)  # here
        """),
        "there is code between stages",
        "move it into a stage",
    ),
    "a kept name in a replicated stage": (
        function("""
            total = 0
            for x in mo.to_stream(xs):
                with mo.stage(replicate=2):
                    total += x  # here
            return total
        """),
        "a replicated stage updates total, which has its value from before the loop",
        "update total in a stage without replicate",
    ),
    "a kept name where replicate is a variable": (
        function(
            """
            total = 0
            for x in mo.to_stream(xs):
                with mo.stage(replicate=n):
                    total = total + x  # here
            return total
            """,
            "xs, n",
        ),
        "a replicated stage updates total",
        "update total in a stage without replicate",
    ),
    "a subscript in a replicated stage": (
        function("""
            seen = {}
            for x in mo.to_stream(xs):
                with mo.stage(replicate=2):
                    seen[x] = True  # here
            return seen
        """),
        "a replicated stage updates seen",
        "it runs once, in order",
    ),
    "del in a replicated stage": (
        function(
            """
            for x in mo.to_stream(xs):
                with mo.stage(replicate=2):
                    del seen[x]  # here
            return seen
            """,
            "xs, seen",
        ),
        "a replicated stage updates seen",
        "it runs once, in order",
    ),
    "return in a stage": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage():
                    return x  # here
        """),
        "`return` stands inside a stage",
        "return it after the loop",
    ),
    "return in the head": (
        function("""
            for x in mo.to_stream(xs):
                if x:
                    return x  # here
                with mo.stage():
                    print(x)
        """),
        "`return` stands inside the head",
        "return it after the loop",
    ),
    "yield in a stage": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage():
                    yield x  # here
        """),
        "`yield` stands inside a stage",
        "yield after the loop",
    ),
    "break in a stage": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage():
                    if x > 3:
                        break  # here
        """),
        "`break` of the stream loop stands in a stage",
        "break in the head, before the first stage",
    ),
    "a nested stream loop": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage():
                    for y in mo.to_stream(x):  # here
                        print(y)
        """),
        "a stream loop is nested in another one",
        "make one loop of them",
    ),
    "else on the loop": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage():
                    print(x)
            else:
                print("end")  # here
        """),
        "a stream loop has no `else`",
        "move these statements behind the loop",
    ),
    "a stage inside if": (
        function("""
            for x in mo.to_stream(xs):
                if x:
                    with mo.stage():  # here
                        print(x)
        """),
        "a stage does not stand directly in a stream loop",
        "move the `if`, `try`, `with` or loop around it into the stage",
    ),
    "a stage inside a stage": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage():
                    with mo.stage():  # here
                        print(x)
        """),
        "a stage does not stand directly in a stream loop",
        "into the stage",
    ),
    "a stage outside a loop": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage():
                    print(x)
            with mo.stage():  # here
                print("end")
        """),
        "a stage does not stand directly in a stream loop",
        "into the stage",
    ),
    "another context manager": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(), open(x) as file:  # here
                    print(file.read())
        """),
        "a stage has another context manager beside its mark",
        "write it as a `with` statement inside the stage",
    ),
    "to_stream elsewhere": (
        function("""
            ys = list(mo.to_stream(xs))  # here
            for x in mo.to_stream(ys):
                with mo.stage():
                    print(x)
        """),
        "to_stream does not stand in the head of a loop",
        "with nothing around the call",
    ),
    "enumerate around to_stream": (
        function("""
            for n, x in enumerate(mo.to_stream(xs)):  # here
                with mo.stage():
                    print(n, x)
        """),
        "to_stream does not stand in the head of a loop",
        "with nothing around the call",
    ),
    "for without an iterable": (
        function("""
            for x in mo.to_stream():  # here
                with mo.stage():
                    print(x)
        """),
        "`for` needs something to iterate over",
        "`while mo.to_stream():`",
    ),
    "while with an iterable": (
        function("""
            while mo.to_stream(xs):  # here
                with mo.stage():
                    print(xs)
        """),
        "`while` reads for itself",
        "`for x in mo.to_stream(xs):`",
    ),
    "global": (
        function("""
            global total  # here
            for x in mo.to_stream(xs):
                with mo.stage():
                    total = x
        """),
        "a pipeline does not declare names as global",
        "pass total as an argument, or return its new value",
    ),
    "nonlocal": (
        """
        import morisot as mo
        def outer(xs):
            total = 0
            @mo.pipeline
            def f(xs):
                nonlocal total  # here
                for x in mo.to_stream(xs):
                    with mo.stage():
                        total += x
            f(xs)
        outer([1])
        """,
        "a pipeline does not declare names as nonlocal",
        "pass total as an argument, or return its new value",
    ),
    "a coroutine function": (
        "import morisot as mo\n@mo.pipeline  # here\nasync def f(xs):\n    await xs\n",
        "f is a coroutine function, and a pipeline does not await",
        "asyncio.run",
    ),
    "feedback to the head": (
        function("""
            total = 0
            for x in mo.to_stream(xs):
                if total > 9:  # here
                    break
                with mo.stage():
                    total += x
            return total
        """),
        "the head reads total, which a later stage updates (line 9)",
        "elements are ahead of it here",
    ),
    "feedback to an earlier stage": (
        function("""
            total = 0
            for x in mo.to_stream(xs):
                with mo.stage():
                    y = x + total  # here
                with mo.stage():
                    total += y
            return total
        """),
        "a stage reads total, which a later stage updates (line 9)",
        "elements are ahead of it here",
    ),
    "feedback through a container": (
        function("""
            seen = set()
            for x in mo.to_stream(xs):
                with mo.stage():
                    new = x not in seen  # here
                with mo.stage():
                    if new:
                        seen.add(x)
            return seen
        """),
        "a stage reads seen, which a later stage updates (line 10)",
        "elements are ahead of it here",
    ),
    "two stages update a name": (
        function("""
            total = 0
            for x in mo.to_stream(xs):
                with mo.stage():
                    total += x
                with mo.stage():
                    total -= 1  # here
            return total
        """),
        "two stages update total",
        "update it in one stage, or keep two names",
    ),
    "read before it is set": (
        function("""
            for x in mo.to_stream(xs):
                if x > 3:
                    y = x
                with mo.stage():
                    print(y)  # here
        """),
        "y may be read before it is set in its own iteration",
        "set y on every path",
    ),
    "read after the loop": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage():
                    y = x + 1  # here
                with mo.stage():
                    print(y)
            return y
        """),
        "y is set in the loop only and read after it (line 9)",
        "set y before the loop",
    ),
    "an input that no section makes": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(inputs="x, y"):  # here
                    print(x)
        """),
        "the stage names the input y, which no earlier section makes",
        "correct inputs=",
    ),
    "a missing input": (
        function("""
            for x in mo.to_stream(xs):
                y = x + 1
                with mo.stage(inputs="x"):
                    print(x, y)  # here
        """),
        "the stage reads y, which is not among its inputs",
        "add it to inputs=",
    ),
    "an output that no stage reads": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(outputs=("y", "z")):  # here
                    y = z = x
                with mo.stage():
                    print(y)
        """),
        "the output z is read by no later stage",
        "remove it from outputs=",
    ),
    "a missing output": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(outputs="y"):
                    y = x
                    z = x  # here
                with mo.stage():
                    print(y, z)
        """),
        "a later stage reads z, which is not among the outputs",
        "add it to outputs=",
    ),
    "inputs that differ from the outputs before": (
        function("""
            for x in mo.to_stream(xs, outputs="x, y"):
                y = x
                with mo.stage(inputs="x"):  # here
                    a = x
                with mo.stage():
                    print(a, y)
        """),
        "the stage takes x, and the head gives x, y",
        "make inputs= and the outputs= before it the same",
    ),
    "an input of to_stream": (
        function("""
            for x in mo.to_stream(xs, inputs="ys"):  # here
                with mo.stage():
                    print(x)
        """),
        "to_stream names the input ys, which has no value before the loop",
        "correct inputs=",
    ),
    "names that are no names": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(inputs=["x", 3]):  # here
                    print(x)
        """),
        "['x', 3] does not name inputs or outputs",
        'write "a, b"',
    ),
    "an unknown argument": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(replicas=2):  # here
                    print(x)
        """),
        "stage has no argument replicas",
        "it has inputs, outputs, replicate",
    ),
    "an unknown way of sending": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(replicate=2, send="anywhere"):  # here
                    print(x)
        """),
        "send is 'anywhere'",
        "give 'on_demand' or 'affinity' or 'broadcast'",
    ),
    "affinity without a key": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(replicate=2, send="affinity"):  # here
                    print(x)
        """),
        'send="affinity" needs a key',
        "name what stays at a replica",
    ),
    "a key without affinity": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(replicate=2, key="x"):  # here
                    print(x)
        """),
        'a key is for send="affinity"',
        "remove the key",
    ),
    "a key that is no expression": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(replicate=2, send="affinity", key="x +"):  # here
                    print(x)
        """),
        "the key 'x +' is no expression as text",
        'write key="event.user"',
    ),
    "send without replicas": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(send="broadcast"):  # here
                    print(x)
        """),
        "send is for replicated stages",
        "add replicate=",
    ),
    "no replicas": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(replicate=0):  # here
                    print(x)
        """),
        "replicate is 0",
        "give a whole number of 1 or more",
    ),
    "an unknown resume": (
        function("""
            for x in mo.to_stream(xs, resume="again"):  # here
                with mo.stage():
                    print(x)
        """),
        "resume is 'again'",
        "give 'reread' or 'continue'",
    ),
    "a name without on_init": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage() as model:  # here
                    print(model, x)
        """),
        "the stage binds model, and no on_init returns a value",
        "with mo.stage(on_init=load) as model:",
    ),
    "an argument of a stage that reads the element": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage(replicate=x):  # here
                    print(x)
        """),
        "replicate of a stage reads x, which the loop sets",
        "use names from before the loop",
    ),
    "locals()": (
        function("""
            for x in mo.to_stream(xs):
                with mo.stage():
                    print(locals())  # here
        """),
        "a stage calls locals()",
        "name the values that it needs",
    ),
    "set by the head and a stage, and read after the loop": (
        function("""
            y = 0
            for x in mo.to_stream(xs):
                y = x
                with mo.stage():
                    y += 1  # here
                with mo.stage():
                    print(y)
            return y
        """),
        "y is set by the head or an earlier stage and again here, and read after the loop",
        "give the last value a name of its own",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_when_decorated(name: str, tmp_path: Path) -> None:
    text, message, advice = REFUSED[name]
    with pytest.raises(mo.PlanError) as caught:
        load(tmp_path, text)
    said = str(caught.value)
    lines = textwrap.dedent(text).splitlines()
    line = next(number for number, each in enumerate(lines, 1) if "# here" in each)
    assert message in said
    assert f"program.py:{line})" in said
    assert advice in said.partition("What to do: ")[2]


def test_source_that_is_not_available() -> None:
    names: dict[str, Any] = {"mo": mo}
    with pytest.raises(mo.PlanError, match=r"the source of f is not available: there is no source text for f"):
        exec("@mo.pipeline\ndef f(xs):\n    pass\n", names)


def test_a_class_is_no_pipeline() -> None:
    with pytest.raises(mo.PlanError, match=r"@mo\.pipeline decorates a function, not <class 'int'>"):
        mo.pipeline(int)


def test_unknown_arguments_of_the_decorator() -> None:
    with pytest.raises(TypeError, match="pipeline\\(\\) has no argument 'replicas'"):
        mo.pipeline(replicas=2)  # type: ignore[call-overload]
