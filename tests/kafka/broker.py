"""A Kafka broker on this machine, for as long as a test needs it; its jars come by the Ivy that Spark has."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path

import pyspark

from morisot.engines.spark.internals.names import coordinates
from morisot.engines.spark.session.java_runtime import find_java

SERVER = "org.apache.kafka:kafka_2.13:3.9.2"
EARLIER = "4.2.0"
TOKENS = "org.apache.spark:spark-token-provider-kafka-0-10_2.13"
_ENOUGH_SECONDS = 120
_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={directory}/log
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
num.partitions=2
broker.session.timeout.ms=600000
"""


class NoJars(Exception):  # noqa: N818 - it says why a test is left out
    """Jars that a test needs could not be fetched."""


def fetch(package: str, into: Path) -> Path:
    """The jars of a package and of what it needs, in a directory; what was fetched once is in Ivy's cache."""
    (ivy,) = Path(pyspark.__file__).parent.glob("jars/ivy-*.jar")
    organisation, artifact, version = package.split(":")
    command = [str(find_java().program), "-XX:TieredStopAtLevel=1", "-jar", str(ivy), "-warn", "-confs", "default"]
    command += ["-dependency", organisation, artifact, version]
    command += ["-retrieve", f"{into}/[organisation]-[artifact]-[revision](-[classifier]).[ext]"]
    into.mkdir(parents=True)
    done = subprocess.run(command, cwd=into, capture_output=True, text=True, check=False, timeout=280)
    if done.returncode != 0 or not list(into.glob(f"*{artifact}-{version}.jar")):
        raise NoJars(f"{package} could not be fetched: {(done.stdout + done.stderr).strip()[-500:]}")
    return into


def connector(directory: Path) -> dict[str, str]:
    """The settings, as variables, of a session with the connector.

    A repository may lack the one of this very version of Spark. The one before it works as well, and with the part of
    it that looks after tokens in an older version.
    """
    own = coordinates("kafka", pyspark.__version__)
    try:
        fetch(own, directory / "own")
    except NoJars:
        (tokens,) = fetch(f"{TOKENS}:4.0.0", directory / "tokens").glob("*token-provider*.jar")
        packages = coordinates("kafka", EARLIER)
        return {"MORISOT_PACKAGES": packages, "MORISOT_SPARK": f"jars.excludes={TOKENS},jars={tokens}"}
    return {"MORISOT_PACKAGES": "kafka"}


@contextlib.contextmanager
def running(directory: Path, jars: Path) -> Iterator[str]:
    """The address of a broker that has nothing in it."""
    port, controller = free_port(), free_port()
    settings = directory / "server.properties"
    settings.write_text(_SETTINGS.format(port=port, controller=controller, directory=directory))
    java = [str(find_java().program), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*"]
    cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    prepare = [*java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings)]
    subprocess.run(prepare, check=True, capture_output=True, timeout=_ENOUGH_SECONDS)
    with (directory / "broker.txt").open("w") as said:
        process = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=said, stderr=said)
        try:
            wait_for(port, process, directory / "broker.txt")
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def wait_for(port: int, process: subprocess.Popen[bytes], said: Path) -> None:
    """Wait until the broker takes connections."""
    deadline = time.monotonic() + _ENOUGH_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert process.poll() is None, said.read_text()[-2000:]
        assert time.monotonic() < deadline, "the broker does not come up"
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment() -> dict[str, str]:
    """What a program in a process of its own needs to import Morisot and these tests."""
    root = Path(__file__).parents[2]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
