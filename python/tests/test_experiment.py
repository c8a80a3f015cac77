"""Experiments: the three ways to write one, and the errors."""

import pickle
from pathlib import Path

import pytest
from conftest import small

import raddle
from raddle import errors

TEXT = """
[topology]
kind = "folded_clos"
leaves = 2
spines = 2
hosts_per_leaf = 4
link_rate = "10 Gbps"
link_delay = "1 us"

[workload]
flows = 100
arrivals = { kind = "poisson", load = 0.4 }
sizes = { kind = "fixed", size = "20 KB" }
pairs = "uniform"

[scheme]
transport = "tcp-newreno"
routing = "ecmp"
"""


def test_toml_dicts_keywords_and_files_give_one_experiment(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(TEXT)
    resolved = small().resolved()
    tables = {name: resolved[name] for name in ("topology", "workload", "scheme")}
    experiments = [
        raddle.Experiment(TEXT),
        raddle.Experiment(file),
        raddle.Experiment(str(file)),
        raddle.Experiment(**tables),
        raddle.Experiment({"topology": tables["topology"]}, workload=tables["workload"], scheme=tables["scheme"]),
    ]
    assert [experiment.resolved() for experiment in experiments] == [resolved] * 5


def test_set_returns_another_experiment(experiment: raddle.Experiment) -> None:
    other = experiment.set("engine.seed=7", scheme__routing="drill")
    assert (other.resolved()["engine"]["seed"], other.resolved()["scheme"]["routing"]) == (7, "drill")
    assert experiment.resolved()["engine"]["seed"] == 1


def test_experiments_can_be_pickled(experiment: raddle.Experiment) -> None:
    other = experiment.set("engine.seed=7")
    assert pickle.loads(pickle.dumps(other)).resolved() == other.resolved()


def test_an_error_has_its_place_and_a_hint() -> None:
    with pytest.raises(errors.UnknownNameError) as caught:
        raddle.Experiment(TEXT.replace("folded_clos", "folded_clo"))
    error = caught.value
    assert (error.file, error.line, error.column, error.key) == ("experiment", 3, 8, "topology.kind")
    assert error.hint == "did you mean `folded_clos`?"
    assert str(error) == "experiment:3:8: unknown kind of topology `folded_clo` (did you mean `folded_clos`?)"


def test_an_error_in_tables_has_a_key_and_no_line() -> None:
    fabric = {"kind": "torus", "dims": [3, 3], "link_rate": "10 Gbps", "link_delay": "1 us"}
    for make, key in [
        (lambda: small(topology={**fabric, "kind": "torsu"}), "topology.kind"),
        (lambda: small(sweep=[{"name": "n", "key": "workload.flows", "values": [1, -1]}]), "sweep.0.values.1"),
        (lambda: small().set(scheme__routing="emcp"), "scheme.routing"),
        (lambda: small().set("scheme.routing=emcp"), "scheme.routing"),
    ]:
        with pytest.raises(errors.ExperimentError) as caught:
            make()
        error = caught.value
        assert (error.key, error.file, error.line, error.column) == (key, None, None, None)
        assert str(error).startswith(f"{key}: ") and error.hint and str(error).endswith(f"({error.hint})")
    with pytest.raises(errors.OverrideError):
        small().set("seed 7")


def test_settings_that_do_not_fit_together_can_be_changed_one_after_the_other_but_not_run() -> None:
    torus = {"kind": "torus", "dims": [3, 3], "link_rate": "10 Gbps", "link_delay": "1 us"}
    misfit = small(topology=torus).set(scheme__routing="conga")
    with pytest.raises(errors.ContradictionError, match="^scheme.routing: `conga` needs a leaf-spine"):
        misfit.run()
    assert misfit.set(scheme__routing="ecmp").run().summary["complete"]


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        ("flows = 100", "flows =", errors.TomlError),
        ("leaves = 2", "leaves = 2\nleafs = 2", errors.UnknownKeyError),
        ("leaves = 2\n", "", errors.MissingKeyError),
        ("[scheme]", "[failures]", errors.MissingTableError),
        ("flows = 100", "flows = 'many'", errors.WrongTypeError),
        ("10 Gbps", "10 Gbs", errors.QuantityError),
        ("load = 0.4", "load = -1.0", errors.OutOfRangeError),
        ("tcp-newreno", "tpc-newreno", errors.UnknownNameError),
    ],
)
def test_each_cause_has_a_class(before: str, after: str, cause: type[errors.ExperimentError]) -> None:
    assert before in TEXT
    with pytest.raises(errors.ExperimentError) as caught:
        raddle.Experiment(TEXT.replace(before, after))
    assert type(caught.value) is cause


def test_a_file_that_is_missing_is_an_error_of_the_experiment() -> None:
    with pytest.raises(errors.UnreadableFileError):
        raddle.Experiment("there/is/none.toml")


def test_toml_and_keywords_together_are_refused() -> None:
    with pytest.raises(TypeError, match="not both"):
        raddle.Experiment(TEXT, engine={"seed": 2})


def test_a_value_without_a_form_in_toml_is_refused() -> None:
    with pytest.raises(TypeError, match="got NoneType"):
        small(engine={"seed": None})
