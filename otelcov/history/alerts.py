"""Alert rules of the config: numbers of the latest window, held against thresholds with hysteresis.

A rule fires after `for` checks in a row that are wrong, and ends after as many beyond `clear`; between the two
thresholds nothing changes, so that a number that trembles does not ring twice. Where a number is not known, the state
stays. Each check is a row in the store:

    <store>/alerts/    a Delta table of CHECKS; the last row of a rule is its state
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import polars as pl

from otelcov.cases.figures import figures
from otelcov.coverage.observations import Adding, Observations
from otelcov.coverage.selection import select, selected
from otelcov.coverage.snapshot import snapshot
from otelcov.ground import errors
from otelcov.ground.config import DIMENSIONS, Alert, Config
from otelcov.ground.errors import ConfigError, StoreError, UsageError, did_you_mean
from otelcov.ground.selection import Selection
from otelcov.ground.windows import Window, iso, span_text
from otelcov.history import results as kept
from otelcov.store import remote

CHECKS = pl.Schema(
    {
        "checked_unix_nano": pl.Int64,
        "rule": pl.String,
        "value": pl.Float64,
        "state": pl.String,  # ok | firing
        "streak": pl.Int64,  # checks in a row towards a change
        "since_unix_nano": pl.Int64,  # when it came into this state
        "told": pl.Boolean,  # whether whoever is to know of that state was told
    }
)
_EMPTY = {"state": "ok", "streak": 0, "since_unix_nano": None, "told": True}
_LATENCY = {"latency_p50": "p50", "latency_p95": "p95", "latency_p99": "p99"}
_MEANS = ("input_tokens", "output_tokens", "tokens", "cost")
_RATES = {"tool_error_rate": "tool_error_rate", "llm_error_rate": "llm_error_rate"}
METRICS = (
    "pass_rate",
    *_LATENCY,
    *_MEANS,
    *_RATES,
    "run_error_rate",
    "runs",
    "coverage",
    *(f"coverage.{d}" for d in ("overall", *DIMENSIONS)),
)

T = TypeVar("T")


class Seen(Protocol):
    """The runs of a window."""

    @property
    def everything(self) -> Observations:
        """What they add up to."""

    def each(self, look: Callable[[pl.DataFrame], T]) -> list[T]:
        """What is seen in some of them (RUNS) at a time."""


Load = Callable[[Window], Seen]


@dataclass(frozen=True)
class Checked:
    """One rule at one time."""

    rule: Alert
    value: float | None
    wrong: bool | None  # None: not enough data
    reason: str
    state: str
    streak: int
    since_ns: int | None
    changed: bool
    told: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule.name,
            "metric": self.rule.metric or f"edge {self.rule.edge}",
            "value": self.value,
            "result": "no_data" if self.wrong is None else "wrong" if self.wrong else "ok",
            "reason": self.reason,
            "state": self.state,
            "since": None if self.since_ns is None else iso(self.since_ns),
            "changed": self.changed,
        }


def check(config: Config, store: str, load: Load, now_ns: int) -> list[Checked]:
    """Every rule, in the order of the config. `load` gives the runs of a window."""
    _sound(config.alerts.rules)
    before = _states(store)
    seen: dict[Window, Seen] = {}

    def cached(window: Window) -> Seen:
        if window not in seen:
            seen[window] = load(window)
        return seen[window]

    return [
        _checked(rule, config, store, cached, now_ns, before.get(rule.name, _EMPTY)) for rule in config.alerts.rules
    ]


def keep(store: str, checked: Sequence[Checked], now_ns: int, told: bool) -> None:
    """The new states; `told` if everyone who is to know of the changes knows."""
    from deltalake import write_deltalake
    from deltalake.exceptions import DeltaError

    rows = [(now_ns, c.rule.name, c.value, c.state, c.streak, c.since_ns, told or c.told) for c in checked]
    frame = pl.DataFrame(rows, schema=CHECKS, orient="row")
    try:
        write_deltalake(
            f"{store.rstrip('/')}/alerts", frame.to_arrow(), mode="append", storage_options=remote.options(store)
        )
    except (DeltaError, OSError) as error:
        raise StoreError(f"Couldn't keep the state of the alerts in {store}: {error}.") from error


def exit_code(checked: Sequence[Checked]) -> int:
    firing = [errors.GATE_FAILED for c in checked if c.state == "firing"]
    blind = [errors.NO_DATA for c in checked if c.wrong is None]
    return errors.worst([*firing, *blind])


def notify(config: Config, checked: Sequence[Checked], address: str) -> None:
    """POST what changed, as JSON."""
    import json
    import urllib.error
    import urllib.request

    if not address.lower().startswith(("http://", "https://")):
        raise ConfigError("Couldn't tell the webhook of the alerts: its address begins with http:// or https://.")
    document = {
        "source": "otelcov",
        "changed": [c.as_json() for c in checked if not c.told],
        "firing": [c.rule.name for c in checked if c.state == "firing"],
    }
    try:
        request = urllib.request.Request(
            address, json.dumps(document).encode(), {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(request, timeout=config.alerts.timeout_ns / 1e9):
            return
    except (urllib.error.URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise StoreError(f"Couldn't tell the webhook of the alerts: {reason}. The next check tries again.") from None


def _checked(rule: Alert, config: Config, store: str, load: Load, now_ns: int, before: dict[str, Any]) -> Checked:
    value, wrong, well, reason = (
        _edge(rule, config, load, now_ns) if rule.edge else _metric(rule, config, store, load, now_ns)
    )
    state, streak, changed = step(before["state"], before["streak"], rule.for_, wrong, well)
    since = now_ns if changed else before["since_unix_nano"]
    return Checked(rule, value, wrong, reason, state, streak, since, changed, before["told"] and not changed)


def step(state: str, streak: int, needed: int, wrong: bool | None, well: bool | None) -> tuple[str, int, bool]:
    """The next state, the checks towards a change, and whether it changed."""
    towards = wrong if state == "ok" else well
    if towards is None:
        return state, streak, False
    if not towards:
        return state, 0, False
    if streak + 1 < needed:
        return state, streak + 1, False
    return ("firing" if state == "ok" else "ok"), 0, True


def _metric(
    rule: Alert, config: Config, store: str, load: Load, now_ns: int
) -> tuple[float | None, bool | None, bool | None, str]:
    """The value, whether it is wrong, whether it is well again, and how to say it."""
    window = Window(max(0, now_ns - rule.window_ns), now_ns)
    value, runs = _value(rule, config, store, load, window)
    metric = str(rule.metric)
    if runs < rule.min_runs and metric != "runs":  # that there are few is what such a rule is about
        return (
            None,
            None,
            None,
            f"{runs} runs in the last {span_text(rule.window_ns)}, fewer than min_runs {rule.min_runs}",
        )
    if value is None:
        return None, None, None, f"{metric} is not known"
    if rule.drop is not None:
        earlier, _ = _value(
            rule, config, store, load, Window(max(0, now_ns - 2 * rule.window_ns), now_ns - rule.window_ns)
        )
        if earlier is None:
            return value, None, None, f"{metric} of the window before is not known"
        lost = earlier - value
        clear = rule.drop if rule.clear is None else rule.clear
        return (
            value,
            lost > rule.drop,
            lost <= clear,
            f"{metric} fell by {lost:.4g} to {value:.4g}, at most {rule.drop:g} allowed",
        )
    if rule.below is not None:
        clear = rule.below if rule.clear is None else rule.clear
        return value, value < rule.below, value >= clear, f"{metric} is {value:.4g}, at least {rule.below:g} wanted"
    assert rule.above is not None
    clear = rule.above if rule.clear is None else rule.clear
    return value, value > rule.above, value <= clear, f"{metric} is {value:.4g}, at most {rule.above:g} wanted"


def _value(rule: Alert, config: Config, store: str, load: Load, window: Window) -> tuple[float | None, int]:
    """The metric in this window, and on how many runs it rests."""
    metric = str(rule.metric)
    if metric == "pass_rate":
        rows = kept.read(store, window).filter(pl.col("result").is_in(["pass", "fail"]))
        rows = kept.chosen(rows, _selection(rule), config)
        passed = rows.filter(pl.col("result") == "pass").height
        return (100 * passed / rows.height if rows.height else None), rows.height
    selection = _selection(rule)
    seen = load(window)

    def settled(runs: pl.DataFrame) -> pl.DataFrame:
        return select(runs, selection, config, sides=True).filter(pl.col("settled").fill_null(True))

    if metric in _MEANS:
        of_each = seen.each(lambda runs: figures(settled(runs), config)[metric])
        told = pl.concat([pl.Series(metric, [], pl.Float64), *(some.cast(pl.Float64) for some in of_each)])
        mean = told.mean()
        return (None if mean is None else float(mean)), len(told)  # type: ignore[arg-type]
    if metric == "run_error_rate":  # of the runs whose end is known, each for as many as it stands for

        def ends(runs: pl.DataFrame) -> tuple[float, float, int]:
            known = settled(runs).filter(pl.col("status") != "unknown")
            weights = known["weight"].fill_null(1.0).to_numpy()
            failed = weights[(known["status"] == "error").to_numpy()]
            return float(failed.sum()), float(weights.sum()), known.height

        failed, every, count = (sum(part) for part in zip((0.0, 0.0, 0), *seen.each(ends), strict=True))
        return (100 * failed / every if count else None), int(count)
    sums = _sums(seen, selection, config)
    count = selected(sums, selection, config, sides=True).shown("settled")
    if metric == "runs" or not count:
        return (float(count) if metric == "runs" else None), count
    shot = snapshot(sums, config, window, selection)
    if metric in _LATENCY:
        return shot["metrics"]["latency_ms"][_LATENCY[metric]], count
    if metric in _RATES:
        share = shot["metrics"][_RATES[metric]]
        return (None if share is None else 100 * share), count
    name = metric.partition(".")[2] or "overall"
    scores = {d["dimension"]: d["score"] for d in shot["coverage"]["dimensions"]} | {
        "overall": shot["coverage"]["overall"]
    }
    return (None if scores[name] is None else 100 * scores[name]), count


def _sums(seen: Seen, selection: Selection, config: Config) -> Observations:
    """What the runs that a rule chooses add up to, whatever their side."""
    if not selection.model:
        return selected(seen.everything, selection, config)
    adding = Adding(config)
    seen.each(lambda runs: adding.add(select(runs, selection, config)))
    return adding.sum()


def _edge(rule: Alert, config: Config, load: Load, now_ns: int) -> tuple[float | None, bool | None, bool | None, str]:
    """How many runs exercised an edge; none is wrong, if any run could have shown it."""
    assert rule.edge is not None and rule.unused_for_ns is not None
    window = Window(max(0, now_ns - rule.unused_for_ns), now_ns)
    selection = _selection(rule)
    agent, _, tool = rule.edge.rpartition("/")
    step = pl.element().struct
    done = step.field("status") != "requested"
    hits = {
        "tool_calls": done & (step.field("agent") == agent) & (step.field("name") == tool),
        "delegations": done & (step.field("from") == agent) & (step.field("tool") == tool),
    }
    took = [pl.col(name).list.eval(hit.fill_null(False)).list.any().fill_null(False) for name, hit in hits.items()]

    def look(runs: pl.DataFrame) -> tuple[int, int]:
        seeing = select(runs, selection, config, sides=True).filter(pl.col("tool_calls").is_not_null())
        return seeing.height, seeing.filter(pl.any_horizontal(took)).height

    seeing, used = (sum(counts) for counts in zip((0, 0), *load(window).each(look), strict=True))
    length = span_text(rule.unused_for_ns)
    if used:
        return (
            float(used),
            False,
            True,
            f"{rule.edge} exercised by {used} run{'' if used == 1 else 's'} in the last {length}",
        )
    if seeing < rule.min_runs:
        return None, None, None, f"{seeing} runs that show tool calls in the last {length}"
    return 0.0, True, False, f"{rule.edge} exercised by none of {seeing} runs in the last {length}"


def _selection(rule: Alert) -> Selection:
    names = ("service", "environment", "release", "side", "model")
    return Selection(**{name: tuple(getattr(rule, name)) for name in names})


def _sound(rules: Sequence[Alert]) -> None:
    names = [rule.name for rule in rules]
    for rule in rules:
        if names.count(rule.name) > 1:
            raise UsageError(f'There are two alert rules called "{rule.name}".')
        if rule.metric is not None and rule.metric not in METRICS:
            hint = did_you_mean(rule.metric, METRICS)
            raise UsageError(f'The alert "{rule.name}" asks for "{rule.metric}"; known are {", ".join(METRICS)}.{hint}')
        _selection(rule)


def _states(store: str) -> dict[str, dict[str, Any]]:
    table = kept.table(store, "alerts")
    if table is None:
        return {}
    frame = pl.DataFrame(pl.from_arrow(table.to_pyarrow_table())).sort("checked_unix_nano")
    return {row["rule"]: row for row in frame.unique("rule", keep="last", maintain_order=True).iter_rows(named=True)}
