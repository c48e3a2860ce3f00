"""The words of the hour: which words were said most, in every hour and a half, every half hour.

Run it with `python examples/top_words.py`. The messages are made up, the same ones every time.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import NamedTuple

import morisot as mo

MORNING = ["coffee", "news", "train", "rain", "meeting", "coffee", "bread", "coffee", "school", "news"]
EVENING = ["dinner", "music", "film", "friends", "rain", "music", "sleep", "wine", "stars", "music"]


class Message(NamedTuple):
    """A message of a user, and its time."""

    at: datetime
    text: str


def messages(count: int) -> list[Message]:
    """A day of messages; each came in at a moment of its own, so they are not in the order of time."""
    generator = random.Random(1874)
    midnight = datetime(2024, 3, 1)
    made = []
    for _ in range(count):
        minute = generator.randrange(6 * 60, 24 * 60)
        words = MORNING if generator.random() > (minute - 360) / 1080 else EVENING
        made.append(Message(midnight + timedelta(minutes=minute), " ".join(generator.sample(words, 3))))
    return made


def first_three(counts: list[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))[:3]


def top_words(written: mo.Stream[Message]) -> mo.Stream[mo.Windowed[datetime, list[tuple[str, int]]]]:
    """The counts of a window have its end as timestamp: those with the same end are a window again."""
    return (
        written.add_timestamps(lambda message: message.at)
        .flat_map(lambda message: message.text.split())
        .group_by(lambda word: word)
        .window(mo.EventTimeWindow.sliding("1.5h", "30m"))
        .count()
        .unkey()
        .window_all(mo.EventTimeWindow.tumbling("30m"))
        .map(first_three)
        .with_bounds()
    )


def main() -> None:
    with mo.StreamContext() as ctx:
        for window in sorted(top_words(ctx.stream_iter(messages(2_000))).collect()):
            words = ", ".join(f"{word} {count}" for word, count in window.value)
            print(f"until {window.start:%H:%M}  {words}")


if __name__ == "__main__":
    main()
