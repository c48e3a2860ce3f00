"""Computes the sentiment of speech with a pool. Each process loads the model."""

import wave
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import pocketsphinx
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

loaded: list[Any] = []


def load() -> None:
    loaded.append(pocketsphinx.Decoder(loglevel="FATAL"))


def samples_of(files: list[Path]) -> Iterator[tuple[str, bytes]]:
    for file in files:
        with wave.open(str(file), "rb") as audio:
            yield file.name, audio.readframes(audio.getnframes())


def words_of(named: tuple[str, bytes]) -> tuple[str, str]:
    name, samples = named
    decoder = loaded[0]
    decoder.start_utt()
    decoder.process_raw(samples, full_utt=True)
    decoder.end_utt()
    return name, decoder.hyp().hypstr if decoder.hyp() else ""


def sentiments(files: list[Path], workers: int) -> list[tuple[str, str, float]]:
    found = []
    analyser = SentimentIntensityAnalyzer()
    with Pool(workers, initializer=load) as pool:
        for name, words in pool.imap(words_of, samples_of(files)):
            valence = sum(analyser.lexicon.get(word, 0.0) for word in words.split())
            found.append((name, words, valence))
    return found
