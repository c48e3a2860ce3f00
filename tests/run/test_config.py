"""One Config, three ways in, and what is said when a setting is wrong."""

from pathlib import Path
from typing import Any

import pytest

from morisot.config import Config
from morisot.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "job.toml"
    path.write_text(
        """
        [morisot]
        master = "local[3]"
        parallelism = 5
        verbose = true
        [morisot.spark]
        sql.ansi.enabled = false
        "spark.ui.enabled" = "true"
        """
    )
    return path


def test_defaults() -> None:
    config = Config()
    assert (config.master, config.engine, config.verbose, config.progress, config.spark) == (
        "local[*]",
        "spark",
        False,
        None,
        {},
    )
    assert config.local
    assert config.cores >= 1
    assert 1 <= int(config.heap.removesuffix("g")) <= 16


def test_from_args_leaves_the_rest_to_the_program() -> None:
    line = "in.txt --master local[2] --spark sql.ansi.enabled=false --spark spark.a.b=x=y --out=o --parallelism=4 "
    line += "--memory 2g --engine reference --verbose --no-progress --help"
    config, rest = Config.from_args(line.split())
    assert rest == ["in.txt", "--out=o", "--help"]
    assert config == Config(
        master="local[2]",
        parallelism=4,
        engine="reference",
        memory="2g",
        verbose=True,
        progress=False,
        spark={"spark.sql.ansi.enabled": "false", "spark.a.b": "x=y"},
    )


def test_packages_are_read_from_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text('packages = ["kafka"]\n')
    assert Config.from_file(path).packages == ("kafka",)
    assert Config.from_environment({"MORISOT_PACKAGES": "kafka, a.b:c:1"}).packages == ("kafka", "a.b:c:1")
    assert Config.from_args(["--packages", "kafka"])[0].packages == ("kafka",)


@pytest.mark.parametrize("packages", ["kafka", ["kafak"], ["a:b"], [1], None, ["a:b:c,d:e:f"]])
def test_packages_that_are_none(packages: Any) -> None:
    with pytest.raises(ConfigError, match="packages is .*: give a list of 'kafka' or of Maven coordinates"):
        Config(packages=packages)


def test_from_file_reads_its_table(file: Path) -> None:
    assert Config.from_file(file) == Config(
        master="local[3]",
        parallelism=5,
        verbose=True,
        spark={"spark.sql.ansi.enabled": "false", "spark.ui.enabled": "true"},
    )


def test_from_file_reads_the_top_level_where_there_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text('engine = "reference"\nspark.sql.ansi.enabled = false\n')
    assert Config.from_file(path) == Config(engine="reference", spark={"spark.sql.ansi.enabled": "false"})


def test_from_environment() -> None:
    environ = {
        "MORISOT_MASTER": "local[2]",
        "MORISOT_PARALLELISM": "7",
        "MORISOT_VERBOSE": "yes",
        "MORISOT_PROGRESS": "false",
        "MORISOT_SPARK": "spark.jars=a.jar,b.jar,sql.ansi.enabled=false",
        "MORISOT_SOMETHING_ELSE": "1",
        "HOME": "/",
    }
    assert Config.from_environment(environ) == Config(
        master="local[2]",
        parallelism=7,
        verbose=True,
        progress=False,
        spark={"spark.jars": "a.jar,b.jar", "spark.sql.ansi.enabled": "false"},
    )


def test_arguments_win_over_the_environment_over_the_file_over_the_defaults(file: Path) -> None:
    environ = {"MORISOT_PARALLELISM": "6", "MORISOT_MEMORY": "1g", "MORISOT_SPARK": "ui.enabled=false"}
    config, _ = Config.load(["--memory", "2g"], environ=environ, file=file)
    assert config == Config(
        master="local[3]",  # the file
        parallelism=6,  # the environment over the file
        memory="2g",  # an argument over the environment
        verbose=True,
        spark={"spark.sql.ansi.enabled": "false", "spark.ui.enabled": "false"},  # key by key
    )


def test_the_file_is_named_by_an_argument_or_a_variable(file: Path) -> None:
    assert Config.from_args(["--config", str(file)])[0].parallelism == 5
    assert Config.from_environment({"MORISOT_CONFIG": str(file)}).parallelism == 5


@pytest.mark.parametrize(
    ("master", "cores"), [("local", 1), ("local[6]", 6), ("local[6,2]", 6), ("spark://host:7077", None)]
)
def test_cores_follow_the_master(master: str, cores: int | None) -> None:
    assert Config(master=master).local is (cores is not None)
    assert cores is None or Config(master=master).cores == cores


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"engine": "flink"}, "engine is 'flink': give 'spark' or 'reference'."),
        ({"master": "local[x]"}, "master is 'local[x]': give 'local', 'local[4]' or 'local[*]'."),
        ({"parallelism": 0}, "parallelism is 0: give a whole number of 1 or more."),
        ({"parallelism": True}, "parallelism is True: give a whole number of 1 or more."),
        ({"memory": "lots"}, "memory is 'lots': give a size such as '512m' or '2g'."),
        ({"verbose": "yes"}, "verbose is 'yes': give true or false."),
        ({"spark": 3}, "spark is 3: give a table of Spark settings."),
    ],
)
def test_a_bad_value_is_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        Config(**settings)  # type: ignore[arg-type]
    assert str(refusal.value) == said


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--parallelism", "four"], "parallelism is 'four': give a whole number of 1 or more."),
        (["--master"], "The command line cannot be read: argument --master: expected one argument."),
        (
            ["--spark", "ansi"],
            "The Spark setting 'ansi' has no value: give key=value, as in sql.ansi.enabled=false.",
        ),
    ],
)
def test_bad_arguments_are_refused(argv: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        Config.from_args(argv)
    assert str(refusal.value) == said


def test_bad_variables_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^verbose is 'perhaps': give true or false\.$"):
        Config.from_environment({"MORISOT_VERBOSE": "perhaps"})
    with pytest.raises(ConfigError, match=r"MORISOT_PARALELISM is unknown: did you mean MORISOT_PARALLELISM\?$"):
        Config.from_environment({"MORISOT_PARALELISM": "2"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("paralellism = 2", "The setting 'paralellism' in {path} is unknown: did you mean 'parallelism'?"),
        ("zzz = 2", "The setting 'zzz' in {path} is unknown: known are master, parallelism, engine, memory, "),
        ("master = ", "The configuration file {path} is not TOML: "),
        ("parallelism = '2'", "parallelism is '2': give a whole number of 1 or more."),
        ("morisot = 1", "[morisot] in {path} is 1: give a table."),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "job.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refusal:
        Config.from_file(path)
    assert str(refusal.value).startswith(said.format(path=path))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml cannot be read \(No such file or directory\): check its path"):
        Config.from_file(tmp_path / "none.toml")
