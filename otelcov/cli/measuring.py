"""From the shared options to observations: what every command that measures does first."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from otelcov.cli import ahead, options
from otelcov.cli.options import selection_of, window_of
from otelcov.ground.errors import USAGE, OtelcovError, StoreError
from otelcov.ground.selection import Selection
from otelcov.ground.windows import ALL, Window

if TYPE_CHECKING:
    import polars as pl

    from otelcov.coverage.brief import Brief
    from otelcov.coverage.observations import Observations
    from otelcov.engine.second import Second
    from otelcov.ground.config import Config
    from otelcov.sums.answer import Keep

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """What was asked: which store, window and runs, under which config."""

    store: str
    config: Config
    window: Window
    now_ns: int
    selection: Selection
    engine: str | None = None
    second: Second | None = None  # a process that shares the work of a large inbox

    @classmethod
    def of(
        cls,
        store: str,
        config: Path | None = None,
        *,
        since: str | None = None,
        until: str | None = None,
        now: str | None = None,
        engine: str | None = None,
        **selected: list[str] | None,
    ) -> Question:
        from otelcov.ground import settings

        window, now_ns = window_of(since, until, now)
        return cls(store, settings.load(config), window, now_ns, selection_of(**selected), engine)

    def within(self, **changes: Any) -> Question:
        """The same question with another window or selection."""
        return replace(self, **changes)

    def runs(self) -> tuple[pl.DataFrame, dict[str, int | None]]:
        """The runs of the window that the selection keeps, whatever their side; and what only the store can count."""
        from otelcov import runs
        from otelcov.coverage.selection import select

        loaded = runs.load(self.store, self.window, self.selection, self.config, self.now_ns)
        frame, quality = loaded if isinstance(loaded, tuple) else (loaded, {})
        frame = select(frame, self.selection, self.config)
        if self.selection.agent:
            tell_unseen(self.selection.agent, frame)
        return frame, quality

    def listed(self, keep: Keep | None = None, where: pl.Expr | None = None) -> Listed:
        """The same runs, and of these those for which `where` holds and that `keep` keeps of some of them at a time;
        without content where the store is large: then they are taken from what is kept of it."""
        from otelcov.coverage.selection import select
        from otelcov.sums import answer

        agents, some = set[str](), False

        def chosen(runs: pl.DataFrame) -> pl.DataFrame:
            nonlocal some
            runs = select(runs, self.selection, self.config)
            some = some or not runs.is_empty()
            if self.selection.agent:
                agents.update(runs["agents"].explode().drop_nulls())
            return runs if keep is None else keep(runs)

        found = answer.rows(self.store, self.window, self.config, self.now_ns, self._count, chosen, where)
        if found is None:
            frame, quality = self.runs()
            frame = frame if where is None else frame.filter(where)
            return Listed(frame if keep is None else keep(frame), quality, self, full=True)
        _tell(self.selection.agent, agents if some else None)
        return Listed(*found, self, full=False)

    def selected(self, where: pl.Expr | None = None) -> Listed:
        """The runs of the sides that were asked for, too."""
        from otelcov.coverage.selection import select

        return self.listed(lambda runs: select(runs, self.selection, self.config, sides=True), where)

    def rows(self) -> tuple[pl.DataFrame, dict[str, int | None]]:
        """What `runs` gives, for who needs no content."""
        found = self.listed()
        return found.rows, found.quality

    def observed(self, traced: bool = True) -> tuple[Observations, dict[str, int | None]]:
        """What the window's runs add up to: from sums that are kept, where the store is large enough for that. Without
        `traced` of one agent, too: of runs in which it took no step it is not told then when they were."""
        alone = not traced and len(self.selection.agent) == 1 and not self.selection.model
        return (self._of_agent() if alone else self._kept()) or self._partial()

    def by_agents(self, choices: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], Observations]:
        """What the runs of the sides that were asked for add up to where only the steps of some agents count, for each
        choice of agents."""
        from otelcov.coverage.agents import observed_of
        from otelcov.coverage.observations import Adding
        from otelcov.coverage.selection import select, selected

        wanted: list[tuple[str, ...]] = list(choices)
        found: dict[tuple[str, ...], Observations] = {}
        every = self.within(selection=replace(self.selection, agent=()))
        alone = [chosen for chosen in wanted if len(chosen) == 1]
        if alone and not self.selection.model and (kept := every._kept()) is not None:
            seen = selected(kept[0], self.selection, self.config, sides=True)
            found = {chosen: observed_of(seen, *chosen) for chosen in alone}
            _tell((name for chosen in alone for name in chosen), None if seen.rows.is_empty() else _agents(seen))
        sums = {chosen: Adding(self.config, chosen) for chosen in wanted if chosen not in found}
        agents, some = set[str](), False

        def add(runs: pl.DataFrame) -> pl.DataFrame:
            nonlocal some
            runs = select(runs, self.selection, self.config, sides=True)
            some = some or not runs.is_empty()
            agents.update(runs["agents"].explode().drop_nulls())
            for adding in sums.values():
                adding.add(runs)
            return runs.clear()

        if sums:
            every.listed(add)
        _tell((name for chosen in sums for name in chosen), agents if some else None)
        return found | {chosen: adding.sum() for chosen, adding in sums.items()}

    def seen(self) -> Seen:
        """The same beside the runs."""
        from otelcov.coverage.observations import partial

        if (found := self._kept()) is not None:
            return Seen(self, *found)
        runs, quality = self.runs()
        return Seen(self, partial(runs, self.config, self.selection.agent), quality, runs)

    def _of_agent(self) -> tuple[Observations, dict[str, int | None]] | None:
        from otelcov.coverage.agents import observed_of

        found = self.within(selection=replace(self.selection, agent=()))._kept()
        if found is None:
            return None
        seen, quality = found
        _tell(self.selection.agent, None if seen.rows.is_empty() else _agents(seen))
        return observed_of(seen, *self.selection.agent), quality

    def _kept(self) -> tuple[Observations, dict[str, int | None]] | None:
        from otelcov.sums import answer

        ask = functools.partial(
            answer.observed,
            self.store,
            self.window,
            config=self.config,
            now_ns=self.now_ns,
            count=self._count,
            second=self.second,
        )
        found = ask(self.selection)
        if found and set(self.selection.agent) - _agents(found[0]):
            every = ask(replace(self.selection, agent=()))
            if every and not every[0].rows.is_empty():
                _tell(self.selection.agent, _agents(every[0]))
        return found

    def measured(self) -> Observations:
        """What the runs of the sides that were asked for add up to."""
        from otelcov.coverage.selection import selected

        return selected(self.observed()[0], self.selection, self.config, sides=True)

    def briefly(self) -> tuple[Brief | Observations, dict[str, int | None]]:
        """The same for a report that tells no services, releases, models and agents apart: less is read of it."""
        from otelcov.sums import answer

        chosen = self.selection
        if chosen.service or chosen.release or chosen.model or chosen.agent:
            return self.observed(traced=False)
        asked = (self.store, self.window, chosen, self.config, self.now_ns, self._count)
        found = answer.briefly(*asked, second=self.second)
        return found or self._partial()

    def _partial(self) -> tuple[Observations, dict[str, int | None]]:
        from otelcov.coverage.observations import partial

        frame, quality = self.runs()
        return partial(frame, self.config, self.selection.agent), quality

    def _count(self, new: int, few: int) -> None:
        from otelcov.cli.counting import count

        count(self.store, self.config, self.now_ns, self.engine, new, few)


@dataclass(frozen=True)
class Seen:
    """What the runs of a question add up to, whatever their side, and those of them that are asked for."""

    question: Question
    everything: Observations
    quality: dict[str, int | None]
    _rows: pl.DataFrame | None = None  # where nothing is kept

    @property
    def sums(self) -> Observations:
        """Of the sides that were asked for alone."""
        from otelcov.coverage.selection import selected

        return selected(self.everything, self.question.selection, self.question.config, sides=True)

    def runs(self, where: pl.Expr, within: Window = ALL) -> pl.DataFrame:
        """The runs of those sides for which this holds, and that begin in a window."""
        from otelcov.coverage.selection import inside, select

        asked = self.question
        if self._rows is None:
            every = replace(asked.selection, agent=())  # nothing is told of agents again
            return asked.within(window=asked.window & within, selection=every).selected(where).rows
        rows = inside(self._rows.filter(where), within)
        return select(rows, asked.selection, asked.config, sides=True)

    def each(self, look: Callable[[pl.DataFrame], T]) -> list[T]:
        """What is seen in some of the runs (RUNS without content), whatever their side, at a time; none is kept."""
        if self._rows is not None:
            return [look(self._rows)]
        found = list[T]()

        def seen(runs: pl.DataFrame) -> pl.DataFrame:
            found.append(look(runs))
            return runs.clear()

        self.question.within(selection=replace(self.question.selection, agent=())).listed(seen)
        return found

    def run_ids(self) -> frozenset[str]:
        """Those of the runs of the sides that were asked for."""
        from otelcov.coverage.selection import select

        chosen = self.question.selection, self.question.config
        ids = self.each(lambda runs: select(runs, *chosen, sides=True)["run_id"].to_list())
        return frozenset(id for some in ids for id in some)


@dataclass(frozen=True)
class Listed:
    """Some runs, in order."""

    rows: pl.DataFrame  # RUNS
    quality: dict[str, int | None]
    question: Question
    full: bool  # with content

    def whole(self) -> Iterator[pl.DataFrame]:
        """The same rows with content, some at a time."""
        if self.full:
            yield self.rows
            return
        from otelcov.sums import texts

        asked = self.question
        yield from texts.with_content(self.rows, asked.store, asked.config, asked.now_ns)

    def content(self) -> pl.DataFrame:
        """All of them with content."""
        import polars as pl

        return pl.concat([self.rows.clear(), *self.whole()])


def tell_unseen(agents: Iterable[str], runs: pl.DataFrame) -> None:
    """A word on stderr about each of these agents that took no step in the runs: nothing of it is no good news."""
    _tell(agents, set(runs["agents"].explode().drop_nulls()) if runs.height else None)


def _agents(seen: Observations) -> set[str]:
    import polars as pl

    from otelcov.coverage.edges import AGENTS

    rows = seen.rows.filter(pl.col("dimension").is_in(AGENTS))
    return set(seen.items.join(rows, on="item", how="semi")["text"])


def _tell(agents: Iterable[str], seen: set[str] | None) -> None:
    from otelcov.ground.errors import did_you_mean

    if seen is not None:  # with no run at all there is another thing to say
        for name in sorted(set(agents) - seen):
            typer.echo(f'No run of this window shows a step of the agent "{name}".{did_you_mean(name, seen)}', err=True)


_SELECTION = {
    "service": options.Service,
    "environment": options.Environment,
    "release": options.Release,
    "agent": options.Agent,
    "side": options.Side,
    "model": options.Model,
    "case": options.Case,
}
_SHARED: dict[str, tuple[Any, Any]] = {
    "store": (options.Store, options.STORE),
    "config": (options.ConfigFile, None),
    "since": (options.Since, None),
    "until": (options.Until, None),
    "now": (options.Now, None),
    **{name: (option, None) for name, option in _SELECTION.items()},
    "engine": (options.Engine, None),
}


def asking(command: Callable[..., int]) -> Callable[..., int]:
    """A command that takes `question`: here the options of store, window and selection are added to its own.

    An option of the command's own takes the place of a shared one (`--side` of `gaps`).
    """
    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "question"]
    given = {p.name for p in own}
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(name, keyword, default=default, annotation=kind)
        for name, (kind, default) in _SHARED.items()
        if name not in given
    ]

    def run(**values: Any) -> int:
        shared = {name: values.pop(name) for name in [p.name for p in added]}
        with ahead.helped(shared["store"]) as second, also_missing(shared["store"]):
            return answered(functools.partial(command, **values), replace(Question.of(**shared), second=second))

    own = [p.replace(kind=keyword) for p in own]
    run.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {}
    run.__doc__, run.__name__ = command.__doc__, command.__name__
    return run


@contextmanager
def also_missing(store: str) -> Iterator[None]:
    """Of several things that are wrong the store goes first: what cannot be asked of one that is not there ends as a
    missing store, and says both."""
    try:
        yield
    except OtelcovError as error:
        if error.exit_code == USAGE and "://" not in store and not Path(store).exists():
            raise StoreError(f"{error}\nNor is there a store in {store}. Is --store right?") from None
        raise


def answered(command: Callable[..., T], question: Question) -> T:
    """The command's answer; another one where what is kept was lost on the way: to a process that has just replaced it,
    or for good, and then all is counted again."""
    from otelcov.store import damage

    with damage.told(question.store):
        try:
            return command(question=question)
        except StoreError as error:
            from otelcov.sums import kept
            from otelcov.sums.meaning import folder

            if not isinstance(error, kept.Lost):
                raise
        try:
            return command(question=question)
        except kept.Lost:
            kept.drop(folder(question.store, question.config))
            return command(question=question)


Format = Annotated[str, typer.Option("--format", envvar="OTELCOV_FORMAT", metavar="FORMAT", help="How to print it.")]


def out(text: str) -> None:
    """Text to stdout as UTF-8, whatever the locale."""
    typer.echo(text.removesuffix("\n"))


def terminal() -> dict[str, Any]:
    """Width and colour for text: those of the terminal, else 80 columns and none."""
    import os
    import shutil

    listening = sys.stdout.isatty()
    width = shutil.get_terminal_size((80, 24)).columns if listening or "COLUMNS" in os.environ else 80
    return {"width": max(40, width), "color": True if listening else None}
