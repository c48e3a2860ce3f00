"""Prints the sentiment of speech in audio files: `python examples/pipelines/sentiment.py *.wav --workers 2`.

Needs `pip install pocketsphinx vaderSentiment`, whose packages have the model and the lexicon. Without files it
synthesises some sentences with eSpeak NG (`pip install espeakng-loader`).
"""

from __future__ import annotations

import argparse
import tempfile
import wave
from pathlib import Path

import pocketsphinx
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

import morisot as mo


def load() -> pocketsphinx.Decoder:
    return pocketsphinx.Decoder(loglevel="FATAL")


@mo.pipeline
def sentiments(files: list[Path], workers: int) -> list[tuple[str, str, float]]:
    """The name, the recognised words and the sentiment of each file."""
    found = []
    for file in mo.to_stream(files):
        name = file.name
        with wave.open(str(file), "rb") as audio:
            samples = audio.readframes(audio.getnframes())
        with mo.stage(replicate=workers, on_init=load) as decoder:
            decoder.start_utt()
            decoder.process_raw(samples, full_utt=True)
            decoder.end_utt()
            words = decoder.hyp().hypstr if decoder.hyp() else ""
        with mo.stage(on_init=SentimentIntensityAnalyzer) as analyser:
            valence = sum(analyser.lexicon.get(word, 0.0) for word in words.split())
        with mo.stage():
            found.append((name, words, valence))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        if not given.files:
            from speech import SENTENCES, speak

            given.files = speak(SENTENCES, Path(directory))
        for name, words, valence in sentiments(given.files, given.workers):
            print(f"{name}: {valence:+.1f}  {words}")


if __name__ == "__main__":
    main()
