"""What each dimension counts, and when it refuses to give a number."""

from __future__ import annotations

from typing import Any

import pytest

from otelcov.coverage.observations import partial
from otelcov.coverage.selection import select
from otelcov.coverage.snapshot import band, grouped, snapshot
from otelcov.ground.config import Config
from otelcov.ground.selection import Selection
from tests.coverage.build import config, frame, run


def measured(*runs: dict[str, Any], settings: Config | None = None, **chosen: Any) -> dict[str, Any]:
    settings = settings or config()
    selection = Selection(**chosen)
    kept = select(frame(*runs), selection, settings)
    return snapshot(partial(kept, settings, selection.agent), settings, selection=selection)


def dimension(name: str, *runs: dict[str, Any], **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = next(d for d in measured(*runs, **more)["coverage"]["dimensions"] if d["dimension"] == name)
    return found


TOOLS = config("[agents.a]\ntools = ['x', 'y']\n[tools.z]")


class TestTools:
    def test_an_uncalled_tool_is_missing(self) -> None:
        tool = dimension("tool", run("a/x", "a/y!", "a/odd"), settings=TOOLS)
        assert (tool["covered"], tool["known"], tool["score"]) == (2, 3, 2 / 3)
        assert (tool["covered_items"], tool["missing"], tool["undeclared"]) == (["x", "y"], ["z"], ["odd"])
        assert tool["universe"] == "declared"

    def test_a_tool_that_was_only_requested_is_missing(self) -> None:
        assert dimension("tool", run("a/x?"), settings=TOOLS)["missing"] == ["x", "y", "z"]

    def test_offered_tools_are_the_universe_where_none_is_declared(self) -> None:
        tool = dimension("tool", run("a/x", tools=["x", "y"]), run("a/invented", tools=["x"]))
        assert (tool["universe"], tool["score"], tool["missing"]) == ("offered", 0.5, ["y"])
        assert tool["undeclared"] == ["invented"]

    def test_called_errors_only_offered_and_never_offered_are_told_apart(self) -> None:
        tool = dimension("tool", run("a/x", "a/y!", "a/w?", tools=["x", "y", "v"]), settings=TOOLS)
        assert {i["item"]: i["status"] for i in tool["items"]} == {
            "w": "requested, never called",
            "x": "called",
            "y": "errors only",
            "z": "never offered",
        }

    def test_without_a_universe_there_is_no_score(self) -> None:
        tool = dimension("tool", run("a/x"))
        assert (tool["score"], tool["known"], tool["universe"]) == (None, None, "none")
        assert tool["covered_items"] == ["x"] and tool["reason"]

    def test_an_empty_declared_set_has_no_score(self) -> None:
        tool = dimension("tool", run("a/x"), settings=config("[agents.a]\ntools = []"))
        assert (tool["score"], tool["reason"]) == (None, "the declared set of tools is empty")

    def test_runs_that_cannot_show_their_calls_leave_no_score_or_a_lower_bound(self) -> None:
        blind = run(tool_calls=None)
        assert dimension("tool", blind, settings=TOOLS)["score"] is None
        tool = dimension("tool", blind, run("a/x"), settings=TOOLS)
        assert tool["score"] == 1 / 3
        assert "1 of 2 runs cannot show" in tool["reason"]

    def test_a_delegating_tool_counts_only_if_it_is_declared(self) -> None:
        handed = run(delegates=["a->b:z"])
        assert dimension("tool", handed, settings=TOOLS)["covered_items"] == ["z"]
        assert dimension("tool", run(delegates=["a->b:other"]), settings=TOOLS)["undeclared"] == []

    def test_one_agents_universe_is_what_that_agent_may_call(self) -> None:
        tool = dimension("tool", run("a/x", "b/y"), settings=TOOLS, agent=("a",))
        assert (tool["covered_items"], tool["missing"]) == (["x"], ["y"])
        offered = run("a/x", "b/y", tools=["x", "y"])
        assert dimension("tool", offered, agent=("a",))["score"] is None  # offered to a run, not to an agent

    def test_tools_that_are_declared_for_nobody_in_particular_are_none_of_an_agents(self) -> None:
        tool = dimension("tool", run("a/x"), settings=config("[tools.x]"), agent=("a",))
        assert tool["reason"] == "no tools are declared for a and no run shows the tools it was offered"


class TestModels:
    MODELS = config('[models."gpt-4o"]\naliases = ["our-fast"]\n[models.claude]')

    @pytest.mark.parametrize(
        "name", ["gpt-4o", "gpt-4o-2024-08-06", "openai/gpt-4o", "our-fast", "azure/our-fast-20240806"]
    )
    def test_dated_prefixed_and_aliased_names_are_one_model(self, name: str) -> None:
        model = dimension("model", run("a/x", models=[name]), settings=self.MODELS)
        assert (model["covered_items"], model["missing"], model["score"]) == (["gpt-4o"], ["claude"], 0.5)

    def test_nobody_knows_the_models_unless_they_are_declared(self) -> None:
        model = dimension("model", run("a/x"))
        assert (model["score"], model["covered_items"]) == (None, ["model-a"])

    def test_an_undeclared_model_is_named_and_does_not_count(self) -> None:
        model = dimension("model", run("a/x", models=["gpt-5"]), settings=self.MODELS)
        assert (model["score"], model["undeclared"]) == (0.0, ["gpt-5"])

    def test_a_selection_by_model_takes_any_of_its_names(self) -> None:
        runs = run("a/x", models=["openai/gpt-4o"]), run("a/x", models=["claude"])
        assert measured(*runs, settings=self.MODELS, model=("gpt-4o-2024-08-06",))["runs"]["total"] == 1


class TestBoundaries:
    def test_the_six_of_the_seed_without_those_nobody_could_show(self) -> None:
        seen = run("a/x!", boundaries=["tool_failure", "tool_recovery"], boundaries_unknown=["cost_limit"])
        boundary = dimension("boundary", seen, run("a/x", boundaries_unknown=["cost_limit", "timeout"]))
        assert boundary["score"] == 1 / 5
        assert boundary["unjudged"] == ["cost_limit"] and "cost_limit" in boundary["reason"]
        assert boundary["undeclared"] == ["tool_recovery"]
        status = {i["item"]: i["status"] for i in boundary["items"]}
        assert status["tool_failure"] == "reached, recovered in 1 of 1 runs"
        assert status["timeout"] == "never reached"

    def test_a_declared_universe_keeps_what_nobody_could_show(self) -> None:
        declared = config("[coverage]\nboundaries = ['timeout', 'length']")
        boundary = dimension("boundary", run(boundaries=["length"], boundaries_unknown=["timeout"]), settings=declared)
        assert (boundary["score"], boundary["missing"]) == (0.5, ["timeout"])
        assert dimension("boundary", run(), settings=config("[coverage]\nboundaries = []"))["score"] is None


class TestPaths:
    def test_production_is_held_against_what_tests_did(self) -> None:
        runs = [run("a/x", environment="ci"), *(run("a/x") for _ in range(3)), run("a/y")]
        for side in ((), ("production",), ("test",)):
            path = dimension("path", *runs, side=side)
            assert (path["method"], path["score"], path["views"]["relative_count"]) == ("relative_mass", 0.75, 0.5)
            assert (path["covered_items"], path["missing"]) == (["a/x"], ["a/y"])

    def test_what_no_test_could_show_is_not_untested(self) -> None:
        production = [run("a/x"), run("a/y")]
        for name, what in (("path", "path"), ("state", "states")):
            blind = dimension(name, run(environment="ci", tool_calls=None), *production)
            assert (blind["score"], blind["missing"], blind["known"]) == (None, [], None)
            assert blind["reason"] == f"no test run can show its {what}"
            assert blind["views"]["relative_count"] is None
            seeing = [run(environment="ci", tool_calls=None), run("a/x", environment="ci")]
            some = dimension(name, *seeing, *production)
            assert some["score"] == 0.5
            assert some["reason"] == f"1 of 2 test runs cannot show their {what}: at least this much"

    def test_a_suite_alone_is_no_random_sample(self) -> None:
        suite = [run("a/x", environment="ci", case=f"c{i}") for i in range(30)]
        path = dimension("path", *suite)
        assert path["score"] is None and "no random sample" in path["reason"]
        assert path["views"]["good_turing"] is not None

    def test_a_suite_alone_is_held_against_declared_paths(self) -> None:
        declared = config("[coverage]\npaths = [['a/x', 'a->b', 'b/y'], ['a/x']]")
        path = dimension("path", run("a/x", environment="ci"), run("a/z", environment="ci"), settings=declared)
        assert (path["score"], path["missing"], path["undeclared"]) == (0.5, ["a/x > a->b > b/y"], ["a/z"])

    def test_production_alone_is_estimated(self) -> None:
        runs = [run("a/x") for _ in range(17)] + [run("a/y"), run("a/z"), run("a/z"), run("a/w")]
        path = dimension("path", *runs)
        assert (path["singletons"], path["doubletons"], path["method"]) == (2, 1, "chao_jost")
        assert path["score"] == pytest.approx(1 - 2 / 21 * 40 / 42)
        assert path["interval"]["low"] < path["score"] < path["interval"]["high"]
        assert path["runs_until_5_pct"] is not None
        assert dimension("path", *runs[:19])["score"] is None  # fewer than min_runs

    def test_runs_of_one_case_count_once_in_f1_and_f2(self) -> None:
        runs = [run("a/x", case="c") for _ in range(2)] + [
            run("a/y", case="d"),
            run("a/y", case="e"),
            run("a/z"),
            run("a/z"),
        ]
        path = dimension("path", *runs)
        assert (path["singletons"], path["doubletons"], path["runs"]) == (1, 2, 6)

    def test_a_run_that_cannot_show_its_path_is_no_evidence(self) -> None:
        path = dimension("path", *(run(tool_calls=None) for _ in range(30)))
        assert (path["score"], path["runs"]) == (None, 0)

    def test_one_agents_steps_make_its_path_in_every_run(self) -> None:
        runs = [run("a/x", "b/y", "a/x", "a/z!"), run("b/y")]
        shot = measured(*runs, agent=("a",))
        path = shot["coverage"]["dimensions"][1]
        assert path["covered_items"] == ["", "a/x+ > a/z!"]
        assert shot["coverage"]["sequences"]["distinct"] == 2
        assert shot["runs"]["total"] == 2

    def test_parallel_steps_stand_together(self) -> None:
        assert dimension("path", run(path=[["a/x", "a/y+"], ["a/z"]]))["covered_items"] == ["a/x & a/y+ > a/z"]


class TestStates:
    def test_visits_of_production_that_tests_made(self) -> None:
        state = dimension("state", run("a/x", environment="ci"), run("a/x", "a/y"), run("a/x"))
        assert (state["score"], state["missing"]) == (2 / 3, ["a|y|ok|text|0"])

    def test_the_estimate_rests_on_incidences_over_runs(self) -> None:
        runs = [run("a/x", "a/y") for _ in range(18)] + [run("a/x", "a/z"), run("a/x", "a/w"), run("a/w")]
        state = dimension("state", *runs)
        assert (state["method"], state["incidences"], state["singletons"], state["doubletons"]) == (
            "chao_2014",
            41,
            1,
            1,
        )
        assert state["score"] == pytest.approx(1 - 1 / 41 * 20 / 22)
        assert state["interval"]["low"] <= state["score"] <= state["interval"]["high"]
        assert state == dimension("state", *reversed(runs))

    def test_content_is_no_part_of_a_state_and_unknown_states_are_no_evidence(self) -> None:
        assert dimension("state", *(run(tool_calls=None) for _ in range(30)))["reason"] == "no run can show its states"


class TestOverall:
    def test_it_is_the_geometric_mean_of_what_is_known(self) -> None:
        settings = config(
            "[agents.a]\ntools = ['x', 'y']\n[models.model-a]\n[coverage]\nboundaries = ['error', 'timeout']"
        )
        coverage = measured(run("a/x", boundaries=["error"]), settings=settings)["coverage"]
        assert coverage["overall"] == pytest.approx((0.5 * 0.5 * 1) ** (1 / 3))
        assert coverage["weakest"] == "tool"  # the first of equals

    def test_nothing_known_is_no_overall(self) -> None:
        coverage = measured()["coverage"]
        assert (coverage["overall"], coverage["weakest"], coverage["band"]) == (None, None, None)

    @pytest.mark.parametrize(
        ("score", "name"), [(0.8, "strong"), (0.7999, "moderate"), (0.5, "moderate"), (0.4999, "weak")]
    )
    def test_bands(self, score: float, name: str) -> None:
        assert band(score) == name

    def test_unsettled_runs_are_counted_and_in_no_dimension(self) -> None:
        shot = measured(run("a/x", settled=False), run("a/y"), settings=TOOLS)
        assert shot["runs"] | {"total": 2, "unsettled": 1} == shot["runs"]
        assert shot["coverage"]["dimensions"][0]["covered_items"] == ["y"]

    def test_sampled_runs_weigh_as_many_as_they_stand_for(self) -> None:
        runs = [run("a/x", environment="ci"), run("a/x", weight=9.0, sampled="known"), run("a/y", sampled="known")]
        shot = measured(*runs)
        assert shot["coverage"]["dimensions"][1]["views"]["relative_mass"] == 0.9
        assert shot["quality"]["sampled"] == "sampled, rate known"
        unknown = measured(*(run("a/x", sampled="unknown") for _ in range(25)))
        assert unknown["coverage"]["dimensions"][1]["reason"] == "sampled, rate unknown"

    def test_groups_are_the_snapshots_of_their_runs(self) -> None:
        runs = [run("a/x", service="one", at=0), run("a/y", service=None, at=90_000, models=["m", "n"])]
        observations = partial(frame(*runs), TOOLS)
        for by, names in (
            ("service", ["(none)", "one"]),
            ("release", ["1.0"]),
            ("model", ["m", "model-a", "n"]),
            ("day", ["2025-07-31", "2025-08-01"]),
            ("agent", ["a"]),
        ):
            groups = grouped(observations, TOOLS, by)
            assert [g["group"] for g in groups] == names
        alone = measured(runs[0], settings=TOOLS)
        assert grouped(observations, TOOLS, "service")[1]["coverage"] == alone["coverage"]


def test_metrics_are_percentiles_of_runs_and_sums_of_calls() -> None:
    runs = [run("a/x", took=t, tokens=(100, 10)) for t in range(1, 101)] + [run("a/x!", tokens=(None, None))]
    metrics = measured(*runs)["metrics"]
    assert metrics["latency_ms"]["p50"] == pytest.approx(50_000, rel=0.03)
    assert metrics["latency_ms"]["p95"] == pytest.approx(95_000, rel=0.03)
    assert metrics["input_tokens"]["sum"] == 10_000
    assert metrics["input_tokens"]["runs"] == 100
    assert (metrics["tool_calls"], metrics["tool_errors"]) == (101, 1)
    nothing = measured(run(llm_calls=None, tool_calls=None))["metrics"]
    assert (nothing["llm_errors"], nothing["tool_errors"], nothing["input_tokens"]["sum"]) == (None, None, None)


def test_a_sampled_run_weighs_in_error_rates_as_many_as_it_stands_for() -> None:
    runs = [run("a/x!", "a/x", weight=4.0, sampled="known"), run("a/x"), run("b/y", weight=2.0, sampled="known")]
    metrics = measured(*runs)["metrics"]
    assert (metrics["tool_calls"], metrics["tool_errors"]) == (4, 1)
    assert metrics["tool_error_rate"] == 4 / 11
    assert metrics["llm_error_rate"] == 0
    groups = grouped(partial(frame(*runs), config()), config(), "agent")
    by_agent = {group["group"]: group["metrics"]["tool_error_rate"] for group in groups}
    assert by_agent == {"a": 4 / 9, "b": 0}


def test_quality_counts_what_makes_numbers_doubtful() -> None:
    quality = measured(
        run(
            "a/x",
            orphans=2,
            dropped_attributes=3,
            masked=1,
            incomplete=["cut"],
            unexplained=[{"scope": "s", "spans": 4}],
        ),
        run("a/x", incomplete=["cut", "no content"]),
    )["quality"]
    assert quality["orphans"] == 2 and quality["dropped_attributes"] == 3 and quality["masked"] == 1
    assert quality["incomplete_runs"] == {"cut": 2, "no content": 1}
    assert quality["unexplained_spans"] == {"s": 4}
