"""Draws a video of faces that move, for `eyes.py`."""

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

MOTION_JPEG = cv2.VideoWriter.fourcc(*"MJPG")
WIDTH, HEIGHT, RATE = 640, 360, 30
# Ellipses in units of the face's radius: x, y, width, height, grey value, softness. Those of an eye are drawn twice.
FACE = [
    (0, -0.25, 1.12, 1.45, 35, 0.08),
    (0, 0, 0.85, 1.2, 195, 0.1),
    (0, 0.05, 0.09, 0.35, 225, 0.5),
    (-0.1, 0.32, 0.07, 0.04, 90, 0.5),
    (0.1, 0.32, 0.07, 0.04, 90, 0.5),
    (0, 0.62, 0.32, 0.08, 95, 0.4),
]
EYE = [
    (0.36, -0.2, 0.24, 0.18, 108, 0.5),
    (0.36, -0.45, 0.26, 0.03, 21, 0.4),
    (0.36, -0.31, 0.165, 0.035, 46, 0.4),
    (0.36, -0.2, 0.15, 0.12, 183, 0.3),
    (0.36, -0.2, 0.12, 0.12, 38, 0.3),
    (0.36, -0.06, 0.15, 0.04, 118, 0.5),
]


def frame(number: int) -> NDArray[np.uint8]:
    """One picture: two faces that move on circles before a slope of grey."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    picture = 70 + 40 * x / WIDTH
    for centre, size in ((180, 62), (460, 74)):
        angle = number / 15 + centre
        across, down = centre + 30 * np.cos(angle), 180 + 20 * np.sin(angle)
        mirrored = [(-a, *rest) for a, *rest in EYE]
        for a, b, w, h, grey, soft in [*FACE, *EYE, *mirrored]:
            distance = ((x - across - a * size) / (w * size)) ** 2 + ((y - down - b * size) / (h * size)) ** 2
            share = 1 / (1 + np.exp(np.clip((distance - 1) / soft, -50, 50)))
            picture = picture * (1 - share) + grey * share
    grey_picture = cv2.GaussianBlur(picture, (3, 3), 0).clip(0, 255).astype(np.uint8)
    return np.asarray(cv2.cvtColor(grey_picture, cv2.COLOR_GRAY2BGR), np.uint8)


def draw_video(path: Path, seconds: float) -> None:
    """Writes a video of the faces."""
    video = cv2.VideoWriter(str(path), MOTION_JPEG, RATE, (WIDTH, HEIGHT))
    for number in range(int(seconds * RATE)):
        video.write(frame(number))
    video.release()
