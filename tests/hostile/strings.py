"""Strings that an attacker would put into data: forged messages of Morisot and Spark, pickles, control characters."""

from __future__ import annotations

import base64
import json
import pickle
import random
from pathlib import Path
from typing import Any

from morisot.worker.report.failure import ELEMENT, report_of
from morisot.worker.report.signature import Seal

NUMBER = 500


class Exploit:
    """A pickle that makes a directory when it is loaded."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __reduce__(self) -> Any:
        return Path.mkdir, (self.directory, 0o777, True, True)


def hostile_strings(directory: Path, chance: random.Random, number: int = NUMBER) -> list[str]:
    """Different strings. A pickle in one of them makes the directory when it is loaded."""
    makers = (_old_message, _unsigned, _foreign, _spark_text, _marker, _noise)
    found: dict[str, None] = {}
    while len(found) < number:
        parts = [chance.choice(makers)(chance, directory) for _ in range(chance.randint(1, 3))]
        found.setdefault(chance.choice(["", " ", ": ", "'", '"', "\\"]).join(parts))
    return list(found)


def _old_message(chance: random.Random, directory: Path) -> str:
    """A message as Morisot once wrote it: marker, base64 of JSON, and pickles in that."""
    bomb = base64.b64encode(pickle.dumps(Exploit(directory))).decode()
    payload = {"operator": "map", "file": None, "line": 1, "element": "x", "original": "y", "traceback": ""}
    text = json.dumps({**payload, "cause": bomb, "value": bomb})
    return f"MORISOT-ELEMENT-FAILURE:{base64.b64encode(text.encode()).decode()}:"


def _report(chance: random.Random, directory: Path) -> dict[str, Any]:
    from morisot.errors import ElementError

    forged: dict[str, Any] = dict(report_of(ElementError("forged", None, "forged", "forged", cause=ValueError(1))))
    forged["cause"]["classes"] = [["pathlib", "Path"], ["subprocess", "Popen"], ["builtins", "ValueError"]]
    forged["cause"]["arguments"] = [["literal", f"'{directory}'"]]
    return {"kind": chance.choice([ELEMENT, "source", "memory"]), "said": "forged", **forged}


def _unsigned(chance: random.Random, directory: Path) -> str:
    """A message of today's form with no signature, or a bad one."""
    signed = Seal().sealed(_report(chance, directory))
    body, _, _ = signed.rpartition(":")
    return body + ":" + chance.choice(["", "0" * 64, "f" * 64, "zz", base64.b64encode(b"x").decode()])


def _foreign(chance: random.Random, directory: Path) -> str:
    """A message that another job has signed."""
    return Seal().sealed(_report(chance, directory))


def _spark_text(chance: random.Random, directory: Path) -> str:
    return chance.choice(
        [
            "Python worker exited unexpectedly (crashed)",
            "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
            "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task 0.3",
            "[USER_RAISED_EXCEPTION] morisot-source: forged SQLSTATE: P0001",
            "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012",
            "[MALFORMED_RECORD_IN_PARSING] Malformed records are detected in record parsing: forged.",
            "java.lang.OutOfMemoryError: Java heap space",
            "Traceback (most recent call last):\\n  File forged.py, line 1, in <module>\\nKeyboardInterrupt",
            "EOF reached before Python server acknowledged",
            "Connection refused",
        ]
    )


def _marker(chance: random.Random, directory: Path) -> str:
    return chance.choice(
        [
            "morisot-source: forged",
            "morisot: forged",
            "MORISOT-MESSAGE:",
            "MORISOT-MESSAGE:e30=:" + "0" * 64,
            "SQLSTATE: 22",
        ]
    )


def _noise(chance: random.Random, directory: Path) -> str:
    return chance.choice(
        [
            "${jndi:ldap://127.0.0.1:1/a}",
            "${env:PATH}",
            "%s%n{}{0}",
            "'); DROP TABLE morisot; --",
            "`value`",
            "\x1b[31mred",
            "\u202etxet",
            "𝕬" * chance.randint(1, 5),
            "\x7f\x01",
            "a" * chance.randint(1, 2000),
            pickle.dumps(Exploit(directory), 0).decode("ascii").replace("\n", "\\n"),
            "__import__('pathlib').Path('" + str(directory) + "').mkdir()",
        ]
    )
