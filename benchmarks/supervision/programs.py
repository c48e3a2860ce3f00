"""The programs that the supervisor runs in its benchmark."""

from __future__ import annotations

HEARTBEAT, STALL, SPARK_STALL = 0.5, 3.0, 12.0
"""Seconds. Spark reports the rows of a running task every ten seconds, so its `--stall` must be longer."""

_EVENT = """
import os, signal, sys, threading, time

def event():
    "The moment that must be detected."
    open(".at", "w").write(str(time.time())); os.rename(".at", "at")
"""
_SPARK = (
    _EVENT
    + """
import morisot as mo
HERE = os.getcwd()
CONFIG = mo.Config(master="local[2]", parallelism=2, memory="1g", progress=False, max_retries={retries})
"""
)
_ON = _EVENT + "time.sleep(1)\nevent()\n"
_ON_SPARK = _SPARK.format(retries=0)

DETECTIONS = {
    "it exits": (_ON + "os._exit(3)", 0.2),
    "it is killed": (_ON + "os.kill(os.getpid(), signal.SIGKILL)", 0.2),
    "it is stopped (SIGSTOP)": (_ON + "os.kill(os.getpid(), signal.SIGSTOP)", 3 * HEARTBEAT),
    "a call holds the interpreter's lock": (_ON + "import ctypes\nctypes.PyDLL(None).sleep(600)", 3 * HEARTBEAT),
    "it makes no progress": (
        _ON + "from morisot.runtime.activity import ACTIVITY\nwith ACTIVITY.working():\n    time.sleep(600)",
        STALL,
    ),
}
"""Programs without Spark, and the most seconds until the supervisor detects what they do."""

DETECTIONS_ON_SPARK = {
    "the JVM is stopped (SIGSTOP)": (
        _ON_SPARK
        + """
from morisot.engines.spark.internals.gateway import jvm_process
with mo.StreamContext(config=CONFIG) as ctx:
    ctx.stream_iter([1]).collect()
    time.sleep(2)
    event()
    os.kill(jvm_process(), signal.SIGSTOP)
    time.sleep(600)
""",
        3 * HEARTBEAT,
    ),
    "a function does not return": (
        _ON_SPARK
        + """
def sleeps(n):
    os.chdir(HERE); event()
    time.sleep(600)
with mo.StreamContext(config=CONFIG) as ctx:
    ctx.stream_iter([1], returns=int).map(sleeps, returns=int).collect()
""",
        SPARK_STALL,
    ),
}

FOLLOW = (
    _SPARK
    + """
def visit(line):
    "Fails once, on the line 40."
    time.sleep(0.01)
    if line == "40" and not os.path.exists(os.path.join(HERE, "at")):
        os.chdir(HERE); event()
        {failure}
    return int(line)

def see(n):
    "The first new result."
    if os.path.exists("at") and not os.path.exists("seen"):
        open(".seen", "w").write(str(time.time())); os.rename(".seen", "seen")
    if not os.path.exists("first"):
        open("first", "w").write(str(time.time()))

with mo.StreamContext(config=CONFIG, snapshots="saves") as ctx:
    lines = ctx.stream_file(os.path.join(HERE, "in"), unbounded=True, files_per_batch=1)
    lines.map(visit, returns=int).for_each(see)
    job = ctx.start()
    job.catch_up()
    job.wait(0)
"""
)
"""An unbounded job that reads a file of ten lines in each micro-batch, and fails in the fifth one."""
FAILURES = {
    "a function raises an exception": ("raise RuntimeError('no')", 1, "in process"),
    "a Python worker is killed": ("os.kill(os.getpid(), signal.SIGKILL)", 1, "in process"),
    "the driver is killed": ("os.kill(int(open('driver').read()), signal.SIGKILL); time.sleep(600)", 0, "new process"),
    "the JVM is killed": ("os.kill(int(open('jvm').read()), signal.SIGKILL); time.sleep(600)", 0, "new process"),
}
"""Failures, the retries in process, and where the job resumes."""
PIDS = """
from morisot.engines.spark.internals.gateway import jvm_process
open("driver", "w").write(str(os.getpid())); open("jvm", "w").write(str(jvm_process()))
"""

ENDING = (
    _ON_SPARK
    + """
import subprocess
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)

def slowly(n):
    "Notes in which process it runs."
    name = os.path.join(HERE, "worker")
    if not os.path.exists(name):
        mine = name + "-" + str(os.getpid())
        open(mine, "w").write(str(os.getpid())); os.rename(mine, name)
    time.sleep(0.01)
    return n

with mo.StreamContext(config=CONFIG, snapshots="saves") as ctx:
    ctx.stream_rate(20).map(slowly).for_each(lambda n: open("seen", "w").close())
    job = ctx.start()
    while not os.path.exists("seen"):
        job.wait(0.1)
    {end}
"""
)
"""An unbounded job beside a process in a session of its own."""
