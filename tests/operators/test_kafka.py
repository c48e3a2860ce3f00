"""What is said about Kafka when a plan is built; `tests/kafka` runs plans against a broker."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import morisot as mo
from morisot.compile.choose import verdict_of
from morisot.plan.analysis.fingerprint import describe
from morisot.plan.nodes.rowwise import Map
from morisot.plan.nodes.sink import SinkNode, WriteKafka

SERVERS = "127.0.0.1:9092"
SECRET = 'PlainLoginModule required username="berthe" password="tulip-garden";'
OPTIONS = {"kafka.security.protocol": "SASL_SSL", "sasl.jaas.config": SECRET, "ssl.keystore.password": "peony"}
SECRETS = (SECRET, "tulip-garden", "peony")


@pytest.fixture
def plain() -> mo.StreamContext:
    return mo.StreamContext(engine="reference")


def sink_of(ctx: mo.StreamContext) -> SinkNode:
    (sink,) = ctx._sinks
    return sink


# -- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "type_"),
    [
        ({}, "str"),
        ({"value": bytes}, "bytes"),
        ({"value": str | None}, "str | None"),
        ({"record": True}, "KafkaRecord"),
    ],
)
def test_stream_kafka_gives_values_or_records(plain: mo.StreamContext, arguments: dict[str, Any], type_: str) -> None:
    stream = plain.stream_kafka(SERVERS, "orders", **arguments)
    assert str(stream.type) == type_
    assert stream.bounded


def test_the_parts_of_a_record_are_as_declared(plain: mo.StreamContext) -> None:
    default = plain.stream_kafka(SERVERS, "orders", record=True).type.children
    assert [(name, str(part)) for name, part in default] == [
        ("key", "str | None"),
        ("value", "str"),
        ("topic", "str"),
        ("partition", "int"),
        ("offset", "int"),
        ("timestamp", "datetime"),
    ]
    declared = plain.stream_kafka(SERVERS, "orders", record=True, key=bytes, value=bytes | None).type.children
    assert [str(part) for _, part in declared[:2]] == ["bytes", "bytes | None"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"servers": "localhost"}, "needs the addresses of Kafka's servers, not 'localhost'"),
        ({"servers": None}, "needs the addresses of Kafka's servers, not None"),
        ({"servers": []}, r"needs the addresses of Kafka's servers, not \[\]"),
        ({"topic": []}, "stream_kafka needs a topic"),
        ({"topic": "a,b"}, "cannot use 'a,b' as the name of a topic"),
        ({"topic": ["a", ".."]}, r"cannot use '\.\.' as the name of a topic"),
        ({"value": int}, "the value of stream_kafka cannot be <class 'int'>"),
        ({"record": True, "key": int}, "the key of stream_kafka cannot be <class 'int'>"),
        ({"key": bytes}, r"reads the values only.*\n.*record=True"),
        ({"starting": "latest"}, r"there are none after the latest.*\n.*unbounded=True"),
        ({"starting": "noon", "unbounded": True}, "starting is 'noon'"),
        ({"records_per_batch": 5}, "records_per_batch= is for a topic that is followed"),
        ({"records_per_batch": 0, "unbounded": True}, "records_per_batch is 0"),
        ({"options": {"bootstrap.servers": "x:1"}}, "sets bootstrap.servers itself"),
        ({"options": {"maxOffsetsPerTrigger": 5}}, "'maxOffsetsPerTrigger' .* is no setting of Kafka's clients"),
    ],
)
def test_wrong_arguments_of_stream_kafka(plain: mo.StreamContext, arguments: dict[str, Any], said: str) -> None:
    given = {"servers": SERVERS, "topic": "orders", **arguments}
    with pytest.raises(mo.PlanError, match=said) as refused:
        plain.stream_kafka(**given)
    assert refused.value.location is not None
    assert refused.value.location.file == __file__


# -- writing ----------------------------------------------------------------------------------------------------------


def written(ctx: mo.StreamContext) -> tuple[str, str]:
    """The type of what is written, and the form of the function that makes it."""
    sink = sink_of(ctx)
    assert isinstance(sink, WriteKafka)
    if not isinstance(sink.input, Map) or sink.input.operator != "write_kafka":
        return str(sink.input.type), "none"
    made = sink.input
    return str(made.type), verdict_of(made.function, made.signature("function")).form


def test_elements_that_are_text_are_written_as_they_are(plain: mo.StreamContext) -> None:
    plain.stream_iter(["a"]).write_kafka(SERVERS, "orders")
    assert written(plain) == ("str", "none")


def test_keys_of_a_keyed_stream_are_written(plain: mo.StreamContext) -> None:
    plain.stream_iter(["a"]).group_by(lambda text: text.upper()).write_kafka(SERVERS, "orders")
    assert written(plain) == ("str → str", "none")


def test_functions_that_are_columns_stay_columns(plain: mo.StreamContext) -> None:
    numbers = plain.stream_iter([1, 2])
    numbers.write_kafka(SERVERS, "orders", key=lambda n: str(n % 2), value=lambda n: f"{n}")
    assert written(plain) == ("tuple[str, str]", "column")


def test_a_key_alone_leaves_the_value_as_it_is(plain: mo.StreamContext) -> None:
    plain.stream_iter([b"a"]).write_kafka(SERVERS, "orders", key=lambda text: "k")
    assert written(plain) == ("tuple[str, bytes]", "column")


def test_a_value_alone_leaves_the_key_of_a_keyed_stream(plain: mo.StreamContext) -> None:
    counts = plain.stream_iter(["a", "b"]).group_by_count(lambda word: word)
    counts.write_kafka(SERVERS, "orders", value=lambda word, count: str(count))
    assert written(plain) == ("str → tuple[str, str]", "column")


def test_what_a_function_gives_may_be_unknown(plain: mo.StreamContext) -> None:
    plain.stream_iter([{"n": 1}]).write_kafka(
        SERVERS, "orders", value=lambda order: eval("lambda given: json.dumps(given)", {"json": json})(order)
    )
    assert written(plain) == ("bytes | None", "stage")
    made = sink_of(plain).inputs[0]
    assert isinstance(made, Map)
    assert made.function.function({"n": 1}) == b'{"n": 1}'


def test_a_function_of_unknown_type_must_give_text(plain: mo.StreamContext) -> None:
    plain.stream_iter([1]).write_kafka(SERVERS, "orders", value=lambda n: eval("n"))
    made = sink_of(plain).inputs[0]
    assert isinstance(made, Map)
    with pytest.raises(TypeError, match=r"write_kafka writes str or bytes, and the function gave 7 \(int\)"):
        made.function.function(7)
    assert made.function.function(None) is None


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda s: s.write_kafka(SERVERS, "t"), r"writes str or bytes, and the value is int.*\n.*value=lambda x: str"),
        (lambda s: s.write_kafka(SERVERS, "t", value=lambda n: n + 1), "the value is int"),
        (lambda s: s.write_kafka(SERVERS, "t", key=lambda n: n, value=lambda n: str(n)), "the key is int"),
        (lambda s: s.group_by(lambda n: n).write_kafka(SERVERS, "t", value=lambda k, n: "v"), "the key is int"),
        (lambda s: s.write_kafka(SERVERS, "t", value=lambda k, n: "v"), "called with one argument"),
        (lambda s: s.write_kafka(SERVERS, ["t"], value=lambda n: "v"), r"cannot use \['t'\] as the name of a topic"),
        (lambda s: s.write_kafka("nowhere", "t", value=lambda n: "v"), "write_kafka needs the addresses"),
    ],
)
def test_wrong_arguments_of_write_kafka(plain: mo.StreamContext, write: Callable[[Any], None], said: str) -> None:
    with pytest.raises(mo.PlanError, match=said) as refused:
        write(plain.stream_iter([1, 2]))
    assert refused.value.location is not None
    assert refused.value.location.file == __file__


def test_snapshots_notice_that_a_function_has_changed(plain: mo.StreamContext) -> None:
    def plan(number: int) -> Any:
        ctx = mo.StreamContext(engine="reference")
        stream = ctx.stream_kafka(SERVERS, "orders", unbounded=True)
        stream.write_kafka(SERVERS, "copies", key=lambda text: text[number:], value=lambda text: text)
        return [each["functions"] for each in describe(sink_of(ctx))["operators"]]

    assert plan(1) == plan(1)
    assert plan(1) != plan(2)


# -- secrets ----------------------------------------------------------------------------------------------------------


def test_settings_are_shown_nowhere(plain: mo.StreamContext, capsys: pytest.CaptureFixture[str]) -> None:
    stream = plain.stream_kafka(SERVERS, "orders", unbounded=True, options=OPTIONS)
    stream.explain()
    stream.write_kafka(SERVERS, "copies", options=OPTIONS)
    picture = stream.draw()
    sink = sink_of(plain)
    shown = [capsys.readouterr().out, picture.json, picture.html, repr(stream), repr(sink), str(describe(sink))]
    assert "servers='127.0.0.1:9092', topics=('orders',)" in shown[0]
    for text in shown:
        assert not [secret for secret in SECRETS if secret in text]


def test_a_message_about_a_setting_has_no_value(plain: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError) as refused:
        plain.stream_kafka(SERVERS, "orders", options={"Password": "tulip-garden"})
    assert "tulip-garden" not in str(refused.value)


def test_the_names_of_settings_are_kafkas(plain: mo.StreamContext) -> None:
    node = plain.stream_kafka(SERVERS, "orders", options={**OPTIONS, "enable.x": True, "fetch.min.bytes": 5})._node
    settings = getattr(node, "settings")  # noqa: B009 - a node of this kind has it
    assert settings["security.protocol"] == "SASL_SSL"
    assert (settings["enable.x"], settings["fetch.min.bytes"]) == ("true", "5")


# -- where it does not run --------------------------------------------------------------------------------------------


def test_the_reference_engine_refuses_kafka(plain: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match=r"stream_kafka does not run on the reference engine.*\n.*spark"):
        plain.stream_kafka(SERVERS, "orders").collect()
    plain.stream_iter(["a"]).write_kafka(SERVERS, "orders")
    with pytest.raises(mo.PlanError, match="write_kafka does not run on the reference engine"):
        plain.execute()


def test_a_session_without_the_connector_is_refused(spark_ctx: mo.StreamContext) -> None:
    advice = r'mo\.Config\(packages=\["kafka"\]\).*spark-sql-kafka-0-10_2\.13:4\.\d'
    with pytest.raises(mo.PlanError, match=rf"stream_kafka needs Spark's connector.*test_kafka.py.*\n.*{advice}"):
        spark_ctx.stream_kafka(SERVERS, "orders").collect()
    spark_ctx.stream_iter(["a"]).write_kafka(SERVERS, "orders")
    with pytest.raises(mo.PlanError, match="write_kafka needs Spark's connector"):
        spark_ctx.execute()
    spark_ctx.stream_kafka(SERVERS, "orders", unbounded=True).for_each(print)
    with pytest.raises(mo.PlanError, match="stream_kafka needs Spark's connector"):
        spark_ctx.start()
