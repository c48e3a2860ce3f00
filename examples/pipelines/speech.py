"""Synthesises sentences into audio files with eSpeak NG, for `sentiment.py`: `pip install espeakng-loader`."""

import ctypes
import wave
from pathlib import Path

import espeakng_loader
import numpy as np

SENTENCES = (
    "this is a wonderful day and we are very happy",
    "the movie was terrible and the people were angry",
    "we love the good food and the beautiful music",
    "it was a bad idea and a sad failure",
)
RATE = 16_000
_RETRIEVAL, _UTF8 = 1, 1
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


def speak(sentences: tuple[str, ...], directory: Path) -> list[Path]:
    """Writes each sentence to a file of 16-bit samples."""
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    rate = library.espeak_Initialize(_RETRIEVAL, 0, espeakng_loader.get_data_path().encode(), 0)
    samples: list[int] = []

    def take(found: "ctypes._Pointer[ctypes.c_short]", count: int, _: object) -> int:
        samples.extend(found[:count] if count > 0 else ())
        return 0

    callback = _CALLBACK(take)
    library.espeak_SetSynthCallback(callback)
    library.espeak_SetVoiceByName(b"en-us")
    library.espeak_SetParameter(1, 130, 0)  # words a minute
    files = []
    for number, sentence in enumerate(sentences):
        samples.clear()
        text = sentence.encode()
        library.espeak_Synth(text, len(text) + 1, 0, 0, 0, _UTF8, None, None)
        library.espeak_Synchronize()
        files.append(directory / f"{number}.wav")
        write(files[-1], samples, rate)
    return files


def write(file: Path, samples: list[int], rate: int) -> None:
    """Writes samples at the rate that the recogniser expects."""
    times = np.arange(0, len(samples) / rate, 1 / RATE)
    resampled = np.interp(times * rate, np.arange(len(samples)), samples).astype("<i2")
    with wave.open(str(file), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        out.writeframes(resampled.tobytes())
