"""Finds faces and eyes in a video and draws boxes: `python examples/pipelines/eyes.py in.avi out.avi --workers 2`.

Needs `pip install "opencv-python-headless<5"`, whose package has the classifiers. Without an input it draws a video.
"""

import argparse
from pathlib import Path

import cv2
from faces import MOTION_JPEG, draw_video

import morisot as mo

CLASSIFIERS = ("haarcascade_frontalface_alt.xml", "haarcascade_eye.xml")
GREEN, BLUE = (0, 255, 0), (255, 0, 0)


def load() -> list[cv2.CascadeClassifier]:
    return [cv2.CascadeClassifier(cv2.data.haarcascades + name) for name in CLASSIFIERS]


def limits(height: int) -> dict[str, tuple[int, int]]:
    """Faces and eyes have 6 to 60 % of the height of the picture."""
    return {"minSize": (height * 6 // 100,) * 2, "maxSize": (height * 60 // 100,) * 2}


@mo.pipeline
def mark_eyes(source: Path, target: Path, workers: int) -> int:
    """Writes the video with boxes. Returns the number of eyes."""
    video = cv2.VideoCapture(str(source))
    rate, width, height = (int(video.get(each)) for each in (5, 3, 4))
    marked = cv2.VideoWriter(str(target), MOTION_JPEG, rate, (width, height))
    eyes = 0
    while mo.to_stream():
        there, frame = video.read()
        if not there:
            break
        with mo.stage(replicate=workers, on_init=load) as classifiers:
            of_face, of_eye = classifiers
            grey = cv2.equalizeHist(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY))
            found = 0
            for x, y, w, h in of_face.detectMultiScale(grey, 1.1, 5, **limits(height)):
                cv2.rectangle(frame, (x, y), (x + w, y + h), BLUE, 2)
                for a, b, c, d in of_eye.detectMultiScale(grey[y : y + h, x : x + w], 1.1, 3):
                    cv2.rectangle(frame, (x + a, y + b), (x + a + c, y + b + d), GREEN, 1)
                    found += 1
        with mo.stage():
            marked.write(frame)
            eyes += found
    marked.release()
    video.release()
    return eyes


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    if not given.source.exists():
        draw_video(given.source, seconds=2)
    print(mark_eyes(given.source, given.target, given.workers), "eyes")


if __name__ == "__main__":
    main()
