"""The applications in examples/pipelines give what their sequential programs give, byte for byte."""

from __future__ import annotations

import hashlib
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from morisot.annotations.pipeline import PipelineFunction

EXAMPLES = Path(__file__).parents[2] / "examples" / "pipelines"
MOST_LINES = {"primes": 25, "mandelbrot": 80, "compress": 80, "decompress": 80, "eyes": 80, "sentiment": 80}

ENGINES = ["reference", pytest.param("spark", marks=[pytest.mark.thorough, pytest.mark.jvm])]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MORISOT_ENGINE", request.param)
    if request.param == "spark":
        request.getfixturevalue("spark")
    return str(request.param)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports an application. Those of optional packages are skipped without them."""
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def imported(name: str, *needed: str) -> Any:
        for each in needed:
            pytest.importorskip(each)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return imported


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes()).hexdigest()


def test_primes(load: Any, engine: str) -> None:
    count = load("primes").count_primes
    assert count(3000, 2) == count.sequential(3000, 2) == 430


def test_mandelbrot(load: Any, engine: str) -> None:
    draw: PipelineFunction[Any, bytearray] = load("mandelbrot").mandelbrot
    assert hashlib.md5(draw(30, 40, 2)).digest() == hashlib.md5(draw.sequential(30, 40, 2)).digest()
    assert [each.form for each in draw.plan(30, 40, 2).forms()] == ["kernel"]


def test_compression_and_decompression(load: Any, engine: str, tmp_path: Path) -> None:
    text, packed, expected, again = (tmp_path / name for name in ("text", "packed", "expected", "again"))
    text.write_bytes(b"".join(b"line %d of a text\n" % number for number in range(200_000)))
    compress, decompress = load("compress").compress, load("decompress").decompress
    assert compress(text, packed, 2) == compress.sequential(text, expected, 2) == 5
    assert md5(packed) == md5(expected)
    assert decompress(packed, again, 2) == 5
    assert md5(again) == md5(text)


def test_eyes(load: Any, engine: str, tmp_path: Path) -> None:
    application = load("eyes", "cv2")
    video, marked, expected = (tmp_path / name for name in ("video.avi", "marked.avi", "expected.avi"))
    load("faces").draw_video(video, seconds=0.1)
    found = application.mark_eyes(video, marked, 2)
    assert found == application.mark_eyes.sequential(video, expected, 2) == 12
    assert md5(marked) == md5(expected)


@pytest.mark.thorough
def test_sentiment(load: Any, engine: str, tmp_path: Path) -> None:
    application = load("sentiment", "pocketsphinx", "vaderSentiment", "espeakng_loader")
    speech = load("speech")
    files = speech.speak(speech.SENTENCES[:2], tmp_path)
    found = application.sentiments(files, 2)
    assert found == application.sentiments.sequential(files, 2)
    assert found[1][2] < found[0][2], "the second sentence is the sad one"


@pytest.mark.parametrize("name", MOST_LINES)
def test_applications_are_short_and_do_not_mention_spark(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    assert len([line for line in text.splitlines() if line.strip()]) <= MOST_LINES[name]
    assert "spark" not in text.lower()
