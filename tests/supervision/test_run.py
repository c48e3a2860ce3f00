"""`morisot run` over programs without Spark: failures, endings, requests, and what is left of them."""

from __future__ import annotations

import json
import os
import signal
import stat
from pathlib import Path

import pytest

from tests.supervision.programs import Supervised, command, wait_for

FAST = ("--heartbeat", "100ms")


@pytest.mark.parametrize(
    ("program", "options", "code", "said"),
    [
        ("pass", (), 0, [None]),
        pytest.param(
            "if attempt() < 3: raise RuntimeError('no')",
            (),
            0,
            ["RuntimeError: no", "RuntimeError: no", None],
            marks=pytest.mark.thorough,
        ),
        ("raise RuntimeError('no')", ("--max-retries", "1"), 75, ["RuntimeError: no"] * 2),
        pytest.param(
            "raise RuntimeError('no')",
            ("--max-restarts", "1"),
            75,
            ["RuntimeError: no"] * 2,
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "ACTIVITY.note_snapshot('7'); attempt() < 4 and sys.exit(3)",
            ("--max-retries", "1"),
            0,
            None,
            marks=pytest.mark.thorough,
        ),
        pytest.param("raise PlanError('no')", (), 1, ["PlanError: no"], marks=pytest.mark.thorough),
        pytest.param("raise SnapshotError('no')", (), 1, ["SnapshotError: no"], marks=pytest.mark.thorough),
        ("raise ElementError('map', None, repr(attempt() % 2), 'no')", ("--max-retries", "9"), 1, None),
        ("import not_there", (), 1, ["ModuleNotFoundError: No module named 'not_there'"]),
        pytest.param(
            "exec('1 +')", (), 1, ["SyntaxError: invalid syntax (<string>, line 1)"], marks=pytest.mark.thorough
        ),
        ("sys.exit(2)", (), 1, ["its exit code is 2"]),
        pytest.param("sys.exit(64)", (), 1, ["its exit code is 64"], marks=pytest.mark.thorough),
        pytest.param("sys.exit(3)", ("--max-retries", "0"), 75, ["its exit code is 3"], marks=pytest.mark.thorough),
        pytest.param(
            "os.kill(os.getpid(), signal.SIGSEGV)",
            ("--max-retries", "0"),
            75,
            ["it was ended by SIGSEGV"],
            marks=pytest.mark.thorough,
        ),
        ("children(); time.sleep(600)", ("--timeout", "2s"), 124, ["timeout"]),
        ("children(); raise RuntimeError('no')", ("--max-retries", "0"), 75, ["RuntimeError: no"]),
    ],
)
def test_a_program_ends(
    tmp_path: Path, program: str, options: tuple[str, ...], code: int, said: list[str | None] | None
) -> None:
    run = Supervised(tmp_path, program, *options)
    assert run.wait() == code, run.errors
    assert run.report.exit_code == code
    if said is not None:
        assert [attempt.error for attempt in run.report.attempts] == said
    assert run.left() == []


def test_a_missing_program_is_a_final_error(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    done = command(tmp_path, "run", "nothing.py")
    assert done.returncode == 1
    assert "there is no program nothing.py" in done.stderr


def test_the_program_runs_as_main(tmp_path: Path) -> None:
    run = Supervised(
        tmp_path,
        """
        import helper
        print(__name__, sys.modules["__main__"].__file__ == __file__, sys.argv[1:], helper.NAME)
        print("to stderr", file=sys.stderr)
        """,
        arguments=("--x", "-h", "1"),
    )
    (tmp_path / "helper.py").write_text("NAME = 'helper'")
    assert run.wait() == 0, run.errors
    assert run.out == "__main__ True ['--x', '-h', '1'] helper\n"
    assert run.errors == "to stderr\n"


@pytest.mark.parametrize(
    ("freeze", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGSTOP)", "it sent no heartbeat for 3 intervals of 0.1 s"),
        ("ctypes.PyDLL(None).sleep(600)", "it sent no heartbeat for 3 intervals of 0.1 s"),  # holds the lock
        pytest.param(
            "b = Backlog(); ACTIVITY.add(b); time.sleep(600)",
            "it made no progress for 2 s while input was waiting",
            marks=pytest.mark.thorough,
        ),
        (
            "ACTIVITY.engine = lambda: EngineState(None, 1, True); time.sleep(600)",
            "it made no progress for 2 s while input was waiting",
        ),
        (
            """child = children()
def state(): return EngineState(child.pid, 1, False)
def never(): time.sleep(600)
ACTIVITY.engine = state
time.sleep(1)
ACTIVITY.engine = never
time.sleep(600)""",
            "Spark's JVM did not answer for 3 intervals of 0.1 s",
        ),
    ],
)
def test_a_stuck_program_is_ended(tmp_path: Path, freeze: str, said: str) -> None:
    run = Supervised(
        tmp_path,
        "if attempt() == 1:\n    time.sleep(0.5)\n" + "".join(f"    {line}\n" for line in freeze.splitlines()),
        *FAST,
        *("--stall", "2s"),
    )
    assert run.wait() == 0, run.errors
    assert [attempt.error for attempt in run.report.attempts] == [said, None]
    assert run.left() == []


def test_a_program_that_does_not_start_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "path"
    path.mkdir()
    hangs = "import os, time\nif 'MORISOT_SUPERVISED' in os.environ: time.sleep(600)"
    (path / "sitecustomize.py").write_text(hangs)
    run = Supervised(tmp_path, "pass", "--start-timeout", "500ms", "--max-retries", "0", path=path)
    assert run.wait() == 75
    assert [attempt.error for attempt in run.report.attempts] == ["it sent no heartbeat within 0.5 s of its start"]
    assert run.left() == []


@pytest.mark.thorough
def test_a_call_that_computes_without_heartbeats_is_judged_by_its_progress(tmp_path: Path) -> None:
    """A call in C that holds the lock and burns processor time longer than three intervals is not stuck."""
    run = Supervised(
        tmp_path,
        """
        time.sleep(0.5)
        began = time.monotonic()
        while time.monotonic() < began + 2:
            sum(range(30_000_000))  # one call
        """,
        *FAST,
        *("--stall", "60s", "--max-retries", "0"),
    )
    assert run.wait() == 0, run.errors


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_program_in_order(tmp_path: Path, number: signal.Signals, code: int) -> None:
    run = Supervised(
        tmp_path,
        """
        def end(*_):
            tell("ended"); sys.exit(0)
        signal.signal(signal.SIGTERM, end)
        children()
        tell("child", os.getpid())
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            end()
        """,
    )
    run.child()
    run.signal(number)
    assert run.wait() == code
    assert (tmp_path / "ended").exists()
    assert run.left() == []


def test_a_second_signal_ends_the_program_at_once(tmp_path: Path) -> None:
    run = Supervised(
        tmp_path,
        """
        signal.signal(signal.SIGTERM, lambda *_: tell("asked"))
        children()
        tell("child", os.getpid())
        while True: time.sleep(600)
        """,
    )
    run.child()
    run.signal(signal.SIGTERM)
    run.await_event("asked")
    run.signal(signal.SIGTERM)
    assert run.wait() == 143
    assert run.left() == []


@pytest.mark.thorough
def test_a_signal_ends_the_wait_for_a_restart(tmp_path: Path) -> None:
    run = Supervised(tmp_path, "tell('child', os.getpid()); sys.exit(3)", "--retry-delay", "60s")
    run.child()
    wait_for(lambda: "restart 1 of 3 in 60 s" in run.errors)
    run.signal(signal.SIGTERM)
    assert run.wait() == 143


def test_a_killed_program_is_restarted(tmp_path: Path) -> None:
    run = Supervised(
        tmp_path,
        "number = attempt(); children(); tell('child', os.getpid())\nif number == 1: time.sleep(600)",
    )
    os.kill(run.child(), signal.SIGKILL)
    assert run.wait() == 0, run.errors
    assert [attempt.error for attempt in run.report.attempts] == ["it was ended by SIGKILL", None]
    assert run.left() == []


def test_a_killed_supervisor_takes_the_program_along(tmp_path: Path) -> None:
    """What survives, processes in sessions of their own, ends at the next start, and so do files."""
    run = Supervised(tmp_path, "children(); tell('child', os.getpid()); time.sleep(600)")
    child = run.child()
    run.signal(signal.SIGKILL)
    run.wait()
    wait_for(lambda: child not in run.processes())
    assert run.left()
    (run.temporary / f"morisot-run-{run.process.pid}-1-abc").mkdir()  # of one that was killed as soon as it had begun
    (tmp_path / "child").unlink()
    after = Supervised(tmp_path, "pass")
    assert after.wait() == 0, after.errors
    assert after.left() == []


def test_later_attempts_resume_from_the_latest_snapshot(tmp_path: Path) -> None:
    """The selected snapshot holds until a job has resumed from it."""
    run = Supervised(
        tmp_path,
        """
        from morisot.overrides import OVERRIDES
        number = attempt()
        with open("restarts", "a") as log: print(OVERRIDES.snapshots["restart"], file=log)
        if number == 2: ACTIVITY.note_resume("5")
        if number < 4: sys.exit(3)
        """,
        *("--restart", "5"),
    )
    assert run.wait() == 0, run.errors
    assert (tmp_path / "restarts").read_text().split() == ["5", "5", "latest", "latest"]
    assert [attempt.from_snapshot for attempt in run.report.attempts] == [None, "5", None, None]


def test_the_control_socket_shows_restarts_and_stops(tmp_path: Path) -> None:
    run = Supervised(
        tmp_path,
        """
        from morisot.overrides import OVERRIDES
        attempt(); tell("restart", OVERRIDES.snapshots.get("restart")); tell("child", os.getpid())
        time.sleep(600)
        """,
    )
    run.child()
    socket = run.saves / "control.sock"
    assert stat.S_IMODE(socket.lstat().st_mode) == 0o600
    listed = command(tmp_path, "ps").stdout.splitlines()
    assert len(listed) == 2
    assert listed[1].split()[0] == str(run.process.pid)
    (tmp_path / "child").unlink()
    assert command(tmp_path, "restart", str(run.saves), "--from", "4").returncode == 0
    run.child()
    assert (tmp_path / "restart").read_text() == "4"
    assert command(tmp_path, "stop", str(run.saves)).returncode == 0
    assert run.wait() == 143
    assert [attempt.error for attempt in run.report.attempts] == ["restarted", "stopped by SIGTERM"]
    assert run.left() == []
    assert "no supervisor" in command(tmp_path, "stop", str(run.saves)).stderr


@pytest.mark.thorough
def test_a_second_supervisor_of_a_directory_is_refused(tmp_path: Path) -> None:
    run = Supervised(tmp_path, "tell('child', os.getpid()); time.sleep(600)")
    run.child()
    second = command(tmp_path, "run", "--snapshots", str(run.saves), "program.py")
    assert second.returncode == 1
    assert second.stderr.startswith("morisot: another supervisor runs a program with the snapshots in")
    assert not (run.saves / "attempts.json").exists()
    run.signal(signal.SIGTERM)
    assert run.wait() == 143


@pytest.mark.thorough
def test_an_element_that_fails_twice_is_skipped(tmp_path: Path) -> None:
    run = Supervised(
        tmp_path,
        "if attempt() < 3: raise ElementError('map', None, '7', 'ValueError: no')",
        *("--poison", "skip"),
    )
    assert run.wait() == 0, run.errors
    skipped = (run.saves / "skipped.jsonl").read_text()
    assert json.loads(skipped) == {"operator": "map", "line": "None", "element": "7"}
    assert run.report.skipped == 1


@pytest.mark.thorough
def test_an_element_that_no_operator_skips_is_a_final_error(tmp_path: Path) -> None:
    run = Supervised(tmp_path, "raise ElementError('for_each', None, '7', 'no')", *("--poison", "skip"))
    assert run.wait() == 1, run.errors
    assert len(run.report.attempts) == 3


@pytest.mark.thorough
def test_settings_of_the_file_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text('[morisot]\nparallelism = 3\n[morisot.supervisor]\nmax_retries = 0\nretry_delay = "1ms"\n')
    run = Supervised(tmp_path, "sys.exit(3)", "--config", str(settings))
    assert run.wait() == 75
    assert len(run.report.attempts) == 1
    monkeypatch.setenv("MORISOT_SUPERVISOR_MAX_RETRIES", "1")
    run = Supervised(tmp_path, "sys.exit(3)", "--config", str(settings))
    assert run.wait() == 75
    assert len(run.report.attempts) == 2


def test_settings_win_over_those_of_less_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line over the code, the code over the environment."""
    monkeypatch.setenv("MORISOT_SNAPSHOTS_PATH", "environment")
    (tmp_path / "tmp").mkdir()
    (tmp_path / "program.py").write_text(
        """
import morisot as mo
config = mo.Config(engine="reference", spark={"a": "code", "b": "code"})
with mo.StreamContext(config=config, snapshots=mo.Snapshots("code", every="1s", items=3)) as ctx:
    print(ctx.config.spark, ctx._snapshots)
"""
    )
    done = command(tmp_path, "run", "--spark", "a=line", "--every", "off", "--restart", "7", "program.py")
    assert "'spark.a': 'line', 'spark.b': 'code'" in done.stdout, done.stderr
    assert "path='code', every=None, items=3" in done.stdout
    assert "restart=7" in done.stdout
    assert (tmp_path / "code" / "attempts.json").exists()
    assert not (tmp_path / "environment").exists()
