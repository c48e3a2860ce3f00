"""Hostile data on a session of Spark Connect."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from morisot.engines.spark.session.java_runtime import find_java, launcher_variables
from tests.hostile.paths import NATIVE, PROGRAMS

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.jvm, pytest.mark.program, pytest.mark.thorough]


def test_hostile_data_on_spark_connect(tmp_path: Path, chance: random.Random) -> None:
    pytest.importorskip("grpc", reason="needs the extra morisot[connect]")
    environment = {
        **os.environ,
        **launcher_variables(find_java()),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": "--conf spark.connect.grpc.binding.address=127.0.0.1 pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_TESTING": "1",  # the server takes a free port
    }
    command = [sys.executable, "-m", "tests.hostile.connect", str(tmp_path), str(chance.random())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, env=environment, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    functions = dict.fromkeys((*PROGRAMS, "unbounded map"), "ElementError, RejectedError")
    compiled = dict.fromkeys(NATIVE, "ElementError, ZeroDivisionError")
    assert found == {
        **functions,
        **compiled,
        "column": "ElementError, ValueError",
        "unbounded column": "ElementError, ValueError",
        "csv": "SourceError, NoneType",
        "json": "SourceError, NoneType",
        "dying": "gave [1]",
        "loaded": "False",
    }
