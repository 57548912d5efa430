"""`otelcov judge`: rules and LLM judges over the conversations of a window."""

from __future__ import annotations

import math
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from otelcov.cli import options
from otelcov.cli.options import STORE, ConfigFile, Now, Since, Store, Until

if TYPE_CHECKING:
    from otelcov.ground.config import Config

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

Custom = Annotated[
    list[str] | None,
    typer.Option(
        "--custom",
        envvar="OTELCOV_CUSTOM",
        metavar="SOURCE",
        help="Metrics of your own: module:name or path/to/file.py[:name]. Repeatable.",
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", envvar="OTELCOV_METRIC", metavar="NAME", help="Only this metric. Repeatable."),
]


@app.callback()
def judge(
    context: typer.Context,
    store: Store = STORE,
    config: ConfigFile = None,
    since: Since = None,
    until: Until = None,
    now: Now = None,
    service: options.Service = None,
    environment: options.Environment = None,
    release: options.Release = None,
    agent: options.Agent = None,
    side: options.Side = None,
    model: options.Model = None,
    case: options.Case = None,
    metric: Metrics = None,
    custom: Custom = None,
    judge_model: Annotated[
        str | None,
        typer.Option(
            "--judge-model", envvar="OTELCOV_JUDGE_MODEL", metavar="NAME", help="Who judges, e.g. openai:gpt-4o-mini."
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url", envvar="OTELCOV_BASE_URL", metavar="URL", help="An OpenAI-compatible server of your own."
        ),
    ] = None,
    rules_only: Annotated[
        bool, typer.Option("--rules-only", envvar="OTELCOV_RULES_ONLY", help="Ask no model; the rules judge alone.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            envvar="OTELCOV_SAMPLE",
            min=1,
            metavar="N",
            help="Ask about N conversations, spread over the paths. The rules see all.",
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold", envvar="OTELCOV_THRESHOLD", metavar="METRIC=MIN", help="The least value. Repeatable."
        ),
    ] = None,
    fail_on_error_severity: Annotated[
        Literal["low", "medium", "high", "critical"] | None,
        typer.Option(
            "--fail-on-error-severity",
            envvar="OTELCOV_FAIL_ON_ERROR_SEVERITY",
            help="Errors of this severity and above fail. Default: critical.",
        ),
    ] = None,
    max_calls: Annotated[
        int | None,
        typer.Option("--max-calls", envvar="OTELCOV_MAX_CALLS", min=0, metavar="N", help="Ask no more than this."),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", envvar="OTELCOV_MAX_TOKENS", min=0, metavar="N", help="Pay for no more tokens."),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option("--repeats", envvar="OTELCOV_REPEATS", min=1, metavar="N", help="Ask each question N times."),
    ] = None,
    group: Annotated[
        bool | None,
        typer.Option("--group/--no-group", envvar="OTELCOV_GROUP", help="Let the judge group errors by root cause."),
    ] = None,
    retry_missing: Annotated[
        bool,
        typer.Option(
            "--retry-missing", envvar="OTELCOV_RETRY_MISSING", help="Ask again where a judge refused or was malformed."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", envvar="OTELCOV_DRY_RUN", help="Print what would be asked and cost.")
    ] = False,
    otlp_endpoint: Annotated[
        str | None,
        typer.Option(
            "--otlp-endpoint",
            envvar="OTELCOV_OTLP_ENDPOINT",
            metavar="URL",
            help="Emit results as gen_ai.evaluation.result events, and the judge's traces, to http://… or grpc://….",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            envvar="OTELCOV_RESULTS",
            metavar="DIR",
            help="Where paid answers and judgements are kept. Default: judge/ in the store.",
        ),
    ] = None,
    format: Annotated[
        Literal["text", "json", "markdown", "junit"],
        typer.Option("--format", envvar="OTELCOV_FORMAT", help="How to print it."),
    ] = "text",
) -> int | None:
    """Judge the conversations of a window: by rules, and by a model where one is configured."""
    if context.invoked_subcommand is not None:
        return None
    from otelcov.cli.measuring import Question, also_missing, out, terminal
    from otelcov.ground import errors
    from otelcov.report import judge as printed

    with also_missing(store):
        question = Question.of(
            store,
            config,
            since=since,
            until=until,
            now=now,
            service=service,
            environment=environment,
            release=release,
            agent=agent,
            side=side,
            model=model,
            case=case,
        )
        changed = _changed(
            question.config,
            model=None if rules_only else judge_model or question.config.judge.model,
            base_url=base_url,
            metrics=metric,
            custom=[*question.config.judge.custom, *(custom or ())],
            thresholds=question.config.judge.thresholds | _thresholds(threshold or []),
            fail_on_error_severity=fail_on_error_severity,
            max_calls=max_calls,
            max_tokens=max_tokens,
            repeats=repeats,
            group=group,
            otlp_endpoint=otlp_endpoint,
        )
        if rules_only:
            changed = replace(changed, judge=replace(changed.judge, model=None))
        with redirect_stdout(sys.stderr):  # metrics of others may print
            document = _judged(question, changed, sample, retry_missing, dry_run, results)
    out(printed.render(document, format, **(terminal() if format == "text" else {})))
    if dry_run:
        return errors.GOOD
    return {"pass": errors.GOOD, "fail": errors.GATE_FAILED, "no_data": errors.NO_DATA}[document["result"]]


@app.command("show-prompts")
def show_prompts(
    config: ConfigFile = None,
    metric: Metrics = None,
    custom: Custom = None,
) -> None:
    """Print what a judge is told, for each metric or for the ones named."""
    from otelcov.cli.measuring import out
    from otelcov.ground import settings
    from otelcov.judge import custom as customs
    from otelcov.judge import prompts

    known = customs.table([*settings.load(config).judge.custom, *(custom or ())])
    texts = {name: prompts.system(one) for name, one in known.items() if one.score is None}
    texts[prompts.GROUPING] = prompts.grouping()
    for name in metric or []:
        if name not in texts:
            customs.choose(known, [name])
            texts[name] = "(answered by code, not by a model)"
    wanted = metric or list(texts)
    out("\n\n".join(f"=== {name} ===\n{texts[name]}" for name in wanted))


def _changed(config: Config, **given: Any) -> Config:
    """The config with the options that were given."""
    from otelcov.ground import settings
    from otelcov.ground.config import Judge, written

    said = {k: v for k, v in given.items() if v is not None}
    told = settings.tables(config.judge) | {written(k): v for k, v in said.items()}
    return replace(config, judge=settings.of(told, Judge, "these options"))


def _thresholds(given: list[str]) -> dict[str, float]:
    from otelcov.ground.errors import UsageError

    found = {}
    for text in given:
        name, _, least = text.partition("=")
        try:
            found[name.strip()] = float(least)
        except ValueError:
            found[name.strip()] = math.nan
        if not math.isfinite(found[name.strip()]):
            raise UsageError(f'Couldn\'t read the threshold "{text}". Write it like helpfulness=3.5.')
    return found


def _judged(
    question: Any, config: Config, sample: int | None, retry_missing: bool, dry_run: bool, results: Path | None
) -> dict[str, Any]:
    from otelcov.cli.measuring import answered
    from otelcov.cli.talks import talks
    from otelcov.ground.windows import iso
    from otelcov.judge import custom as customs
    from otelcov.judge import judgement, kept

    settings = config.judge
    known = customs.table(settings.custom)
    metrics = customs.choose(known, settings.metrics)
    judgement.check(settings.thresholds, known)
    listed = answered(lambda question: question.selected(), replace(question, config=config))
    window = question.window
    asked = judgement.Asked(
        talks(listed, window),
        {
            "since": None if window.since_ns is None else iso(window.since_ns),
            "until": None if window.until_ns is None else iso(window.until_ns),
        },
        question.selection.as_json(),
        metrics,
        known,
        config,
        question.now_ns,
        sample,
    )
    folder = kept.folder(question.store, results)
    if dry_run:
        return judgement.dry_run(asked, folder)
    return judgement.judge(asked, folder, retry_missing, settings.otlp_endpoint)
