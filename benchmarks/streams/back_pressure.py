"""A sink that is slower than its source: `python -m benchmarks.streams.back_pressure [--minutes 10]`.

A thread sends elements into a channel as fast as it may; a function takes some milliseconds for each. The sender has to
wait, so that the backlog of the channel, and memory, do not grow. `--picture` says where to draw them. A JVM takes
what it is allowed before it tidies up, so it is allowed little.
"""

from __future__ import annotations

import argparse
import threading
import time
from pathlib import Path

import morisot as mo
from benchmarks.streams.memory import Watch, drawn, quarters

CAPACITY = 2_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--milliseconds", type=float, default=2, help="what the sink takes for an element")
    parser.add_argument("--memory", default="512m", help="of the JVM's heap")
    parser.add_argument("--picture", type=Path, default=Path("build/back_pressure.svg"))
    options = parser.parse_args()
    delivered: list[int] = [0, 0]
    over = threading.Event()

    def slow(number: int) -> None:
        time.sleep(options.milliseconds / 1000)
        delivered[0] += 1
        delivered[1] += number

    with mo.StreamContext(config=mo.Config(progress=False, memory=options.memory)) as ctx:
        inlet, numbers = ctx.stream_channel(int, capacity=CAPACITY)
        numbers.map(lambda number: number + 1).for_each(slow)
        job = ctx.start()
        sent = [0]

        def send() -> None:
            while not over.is_set():
                inlet.send(sent[0])
                sent[0] += 1
            inlet.close()

        sender = threading.Thread(target=send, daemon=True)
        with Watch(lambda: sent[0] - delivered[0]) as watch:
            sender.start()
            time.sleep(options.minutes * 60)
        over.set()
        ended = job.wait(120)
        sender.join(10)
    right = ended and delivered == [sent[0], sent[0] * (sent[0] + 1) // 2]
    print(f"{sent[0]:,} elements sent, {delivered[0]:,} delivered: {'each once' if right else 'WRONG'}\n")
    print("\n".join(quarters(watch.samples)))
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    options.picture.write_text(drawn(watch.samples))
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
