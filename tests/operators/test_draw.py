"""Pictures of plans."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import morisot as mo

SVG = "{http://www.w3.org/2000/svg}"


def graph(ctx: mo.StreamContext) -> mo.KeyedStream[int, tuple[int, int]]:
    low, high = ctx.stream_iter(range(9)).name("<numbers>").split_by(lambda n: n > 4, 2)
    merged = low.map(lambda n: n + 1).merge(high.map(lambda n: n.as_integer_ratio()[0], returns=int))
    return merged.join(high, lambda n: n, lambda n: n % 3)


def test_one_box_for_each_operator_and_one_arrow_for_each_input(ctx: mo.StreamContext) -> None:
    drawing = json.loads(graph(ctx).draw().json)
    titles = {box["id"]: box["title"] for box in drawing["boxes"]}
    assert sorted(titles.values()) == ["branch", "branch", "join", "map", "map", "merge", "split_by", "stream_iter"]
    arrows = sorted((titles[arrow["source"]], titles[arrow["target"]]) for arrow in drawing["arrows"])
    assert arrows == [
        ("branch", "join"),
        ("branch", "map"),
        ("branch", "map"),
        ("map", "merge"),
        ("map", "merge"),
        ("merge", "join"),
        ("split_by", "branch"),
        ("split_by", "branch"),
        ("stream_iter", "split_by"),
    ]


def test_a_box_says_what_became_of_its_functions(ctx: mo.StreamContext) -> None:
    boxes = json.loads(graph(ctx).draw().json)["boxes"]
    (join,) = [box for box in boxes if box["title"] == "join"]
    assert [function["form"] for function in join["functions"]] == ["column", "column"]
    forms = sorted(box["functions"][0]["form"] for box in boxes if box["title"] == "map")
    assert forms == ["column", "stage"]
    assert join["line"].endswith(tuple("0123456789"))
    assert "test_draw.py:" in join["line"]


def test_svg_is_well_formed_and_boxes_do_not_overlap(ctx: mo.StreamContext) -> None:
    picture = ElementTree.fromstring(graph(ctx).draw().svg)
    boxes = [group.find(f"{SVG}rect") for group in picture.iter(f"{SVG}g")]
    places = [[float(box.attrib[name]) for name in ("x", "y", "width", "height")] for box in boxes if box is not None]
    assert len(places) == 8
    for place, (x, y, width, height) in enumerate(places):
        for other_x, other_y, other_width, other_height in places[place + 1 :]:
            beside = x + width <= other_x or other_x + other_width <= x
            assert beside or y + height <= other_y or other_y + other_height <= y
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    assert "stream_iter “<numbers>”" in texts
    assert "http" not in graph(ctx).draw().html.replace("http://www.w3.org/2000/svg", "")


def test_mermaid(ctx: mo.StreamContext) -> None:
    text = graph(ctx).draw().mermaid
    assert text.startswith("flowchart TB\n")
    assert "stream_iter “&lt;numbers&gt;”" in text
    assert len(re.findall("-->", text)) == 9
    assert re.search(r"class n\d stage", text)


@pytest.mark.parametrize(
    ("name", "start"), [("p.svg", "<svg"), ("p.html", "<!doctype"), ("p.mmd", "flowchart"), ("p.json", "{")]
)
def test_a_picture_is_written(name: str, start: str, ctx: mo.StreamContext, tmp_path: Path) -> None:
    ctx.stream_iter([1]).map(lambda n: n + 1).draw(tmp_path / name)
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_a_picture_of_another_kind_is_refused(ctx: mo.StreamContext, tmp_path: Path) -> None:
    with pytest.raises(
        mo.PlanError,
        match=r"cannot be written as 'p.png' \(.*test_draw.py:\d+\)\n  What to do: let its name end with .svg",
    ):
        ctx.stream_iter([1]).draw(tmp_path / "p.png")


def test_a_loop_and_its_body(ctx: mo.StreamContext) -> None:
    state, _ = ctx.stream_iter([1, 2]).iterate(
        3, 0, lambda s, state: s.map(lambda n: n + 1), lambda d, n: d + n, lambda s, d: s + d, lambda s: True, delta=0
    )
    drawing = json.loads(state.draw().json)
    assert [arrow["body"] for arrow in drawing["arrows"]].count(True) == 1
    ElementTree.fromstring(state.draw().svg)


def test_notebooks_show_the_picture(ctx: mo.StreamContext) -> None:
    picture = ctx.stream_iter([1]).draw()
    assert picture._repr_html_() == picture.svg
    assert repr(picture).startswith("<picture of stream_iter: 1 operators")
