"""Finds eyes in a video with a pool. Each process loads the classifiers. A semaphore bounds the frames in memory."""

from collections.abc import Iterator
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from threading import Semaphore
from typing import Any

import cv2

MOTION_JPEG = cv2.VideoWriter.fourcc(*"MJPG")
CLASSIFIERS = ("haarcascade_frontalface_alt.xml", "haarcascade_eye.xml")
GREEN, BLUE = (0, 255, 0), (255, 0, 0)
AHEAD = 8
loaded: list[Any] = []


def load() -> None:
    loaded.extend(cv2.CascadeClassifier(cv2.data.haarcascades + name) for name in CLASSIFIERS)


def limits(height: int) -> dict[str, tuple[int, int]]:
    return {"minSize": (height * 6 // 100,) * 2, "maxSize": (height * 60 // 100,) * 2}


def marked_frame(frame: Any, height: int) -> tuple[Any, int]:
    of_face, of_eye = loaded
    grey = cv2.equalizeHist(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY))
    found = 0
    for x, y, w, h in of_face.detectMultiScale(grey, 1.1, 5, **limits(height)):
        cv2.rectangle(frame, (x, y), (x + w, y + h), BLUE, 2)
        for a, b, c, d in of_eye.detectMultiScale(grey[y : y + h, x : x + w], 1.1, 3):
            cv2.rectangle(frame, (x + a, y + b), (x + a + c, y + b + d), GREEN, 1)
            found += 1
    return frame, found


def frames_of(video: Any, room: Semaphore) -> Iterator[Any]:
    while True:
        there, frame = video.read()
        if not there:
            return
        room.acquire()
        yield frame


def mark_eyes(source: Path, target: Path, workers: int) -> int:
    video = cv2.VideoCapture(str(source))
    rate, width, height = (int(video.get(each)) for each in (5, 3, 4))
    marked = cv2.VideoWriter(str(target), MOTION_JPEG, rate, (width, height))
    eyes = 0
    room = Semaphore(AHEAD * workers)
    with Pool(workers, initializer=load) as pool:
        for frame, found in pool.imap(partial(marked_frame, height=height), frames_of(video, room)):
            marked.write(frame)
            eyes += found
            room.release()
    marked.release()
    video.release()
    return eyes
