"""`python -m benchmarks.pipelines`: the applications as pipelines, sequential, by pools, and with `apply` by hand.

Each measurement runs in a process of its own. Start-up is a run on little data, in a column of its own. CPU and memory
are those of all processes of the run.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.session import ROOT

EXAMPLES = ROOT / "examples" / "pipelines"
SYSTEMS = ("sequential", "pool", "futures", "pipeline")
_SAMPLE_SECONDS = 0.05


@dataclass(frozen=True)
class Application:
    """An application with its input."""

    name: str
    function: str
    records: int
    arguments: Callable[[Path, bool], tuple[Any, ...]]
    """Its arguments without the number of workers, in a directory, for little data or all."""
    result: Callable[[Path, Any], str]
    """The MD5 of its output."""


def _text(directory: Path, size: int) -> Path:
    """A text of random words, as hard to compress as prose is."""
    import random

    file = directory / f"text-{size}"
    if not file.exists():
        chance = random.Random(1)
        words = [bytes(chance.choices(b"abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(5000)]
        weights = [1 / (rank + 1) for rank in range(len(words))]
        with file.open("wb") as out:
            while out.tell() < size:
                out.write(b" ".join(chance.choices(words, weights, k=100_000)) + b"\n")
            out.truncate(size)
    return file


def _packed(directory: Path, size: int) -> Path:
    file, text = directory / f"packed-{size}", _text(directory, size)
    if not file.exists():
        _function("sequential", "compress", "compress")(text, file, 1)
    return file


def _of_file(directory: Path, _: Any) -> str:
    return hashlib.md5((directory / "out").read_bytes()).hexdigest()


def _of_value(_: Path, value: Any) -> str:
    return hashlib.md5(bytes(value) if isinstance(value, bytearray) else str(value).encode()).hexdigest()


def applications(scale: float) -> dict[str, Application]:
    """The applications, with inputs of a share of their full size."""
    primes, dim, size = int(100_000 * scale**0.5), int(1000 * scale**0.5), int(200_000_000 * scale)
    blocks = -(-size // 900_000)
    return {
        each.name: each
        for each in (
            Application("primes", "count_primes", primes, lambda _, small: (2000 if small else primes,), _of_value),
            Application("mandelbrot", "mandelbrot", dim * dim, lambda _, small: (50 if small else dim, 200), _of_value),
            Application(
                "compress",
                "compress",
                blocks,
                lambda where, small: (_text(where, 900_000 if small else size), where / "out"),
                _of_file,
            ),
            Application(
                "decompress",
                "decompress",
                blocks,
                lambda where, small: (_packed(where, 900_000 if small else size), where / "out"),
                _of_file,
            ),
        )
    }


def _function(system: str, name: str, function: str) -> Callable[..., Any]:
    if system in ("pipeline", "sequential"):
        sys.path.insert(0, str(EXAMPLES))
        found = getattr(importlib.import_module(name), function)
        return found if system == "pipeline" else found.sequential  # type: ignore[no-any-return]
    module = importlib.import_module(f"benchmarks.pools.{name}")
    if system == "futures":
        module.Pool = FuturesPool  # type: ignore[attr-defined]
    return getattr(module, function)  # type: ignore[no-any-return]


class FuturesPool:
    """`concurrent.futures` with the interface of a pool."""

    def __init__(self, workers: int, initializer: Callable[[], None] | None = None) -> None:
        from concurrent.futures import ProcessPoolExecutor

        self._pool = ProcessPoolExecutor(workers, initializer=initializer)
        self._workers = workers

    def imap(self, function: Callable[[Any], Any], items: Any, chunksize: int = 1) -> Iterator[Any]:
        """`map` reads its input at once, so blocks are submitted as results are taken."""
        if chunksize > 1:
            yield from self._pool.map(function, items, chunksize=chunksize)
            return
        waiting: list[Any] = []
        for item in items:
            waiting.append(self._pool.submit(function, item))
            if len(waiting) >= 4 * self._workers:
                yield waiting.pop(0).result()
        for each in waiting:
            yield each.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()


# -- one measurement --------------------------------------------------------------------------------------------------


class Usage:
    """The CPU time and the memory of this process and all below it."""

    def __init__(self) -> None:
        self._cpu: dict[int, float] = {}
        self.peak = 0
        self._begun = 0.0

    def _sample(self) -> None:
        memory = 0
        own = psutil.Process()
        for each in (own, *own.children(recursive=True)):
            try:
                times = each.cpu_times()
                self._cpu[each.pid] = times.user + times.system
                memory += each.memory_info().rss
            except psutil.Error:  # it has ended
                continue
        self.peak = max(self.peak, memory)

    @property
    def cpu(self) -> float:
        return sum(self._cpu.values()) - self._begun

    @contextmanager
    def measured(self) -> Iterator[None]:
        over = threading.Event()

        def sample() -> None:
            while not over.wait(_SAMPLE_SECONDS):
                self._sample()

        self._sample()
        self._begun = sum(self._cpu.values())
        thread = threading.Thread(target=sample)
        thread.start()
        try:
            yield
        finally:
            self._sample()
            over.set()
            thread.join()


def measure(system: str, name: str, workers: int, scale: float, directory: Path) -> dict[str, Any]:
    """Runs an application once on little data and once on all."""
    application = applications(scale)[name]
    began = time.perf_counter()
    function = _function(system, application.name, application.function)
    function(*application.arguments(directory, True), workers)
    start_up = time.perf_counter() - began
    arguments = application.arguments(directory, False)
    usage = Usage()
    with usage.measured():
        began = time.perf_counter()
        value = function(*arguments, workers)
        seconds = time.perf_counter() - began
    return {
        "system": system,
        "application": name,
        "replicas": workers,
        "records": application.records,
        "seconds": seconds,
        "start_up": start_up,
        "cpu": usage.cpu,
        "memory": usage.peak,
        "md5": application.result(directory, value),
    }


# -- all --------------------------------------------------------------------------------------------------------------


def _in_process(system: str, name: str, workers: int, scale: float, directory: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.pipelines", "--one", system, name, str(workers)]
    command += ["--scale", str(scale), "--directory", str(directory)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def table_of(results: list[dict[str, Any]]) -> Table:
    table = Table(title="applications")
    for heading in ("application", "system", "replicas", "records/s", "× ideal pool", "start-up s", "CPU s", "MB"):
        table.add_column(heading, justify="left" if heading in ("application", "system") else "right")
    cores = os.cpu_count() or 1
    alone = {each["application"]: each["seconds"] for each in results if each["system"] == "sequential"}
    for each in results:
        rate = each["records"] / each["seconds"]
        ideal = cores * each["records"] / alone[each["application"]]
        cells = [f"{rate:,.1f}", f"{rate / ideal:.2f}", f"{each['start_up']:.1f}", f"{each['cpu']:.1f}"]
        memory = f"{each['memory'] / 1e6:,.0f}"
        table.add_row(each["application"], each["system"], str(each["replicas"]), *cells, memory)
    return table


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", nargs=3, metavar=("SYSTEM", "APPLICATION", "REPLICAS"))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--applications", default="primes,mandelbrot,compress,decompress")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--replicas", default="1,2,4")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.one:
        system, name, workers = given.one
        print(json.dumps(measure(system, name, int(workers), given.scale, given.directory)))
        return
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        directory = given.directory or Path(temporary)
        for name in given.applications.split(","):
            for system in given.systems.split(","):
                counts = [1] if system == "sequential" else [int(each) for each in given.replicas.split(",")]
                for workers in counts:
                    results.append(_in_process(system, name, workers, given.scale, directory))
                    print(json.dumps(results[-1]), file=sys.stderr, flush=True)
            assert len({each["md5"] for each in results if each["application"] == name}) == 1, "results differ"
    if given.json:
        given.json.write_text(json.dumps(results, indent=1))
    Console(width=110).print(table_of(results))


if __name__ == "__main__":
    main()
