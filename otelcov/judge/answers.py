"""The forms of a judge's answers. What does not fit is no answer: it is never bent into a score."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, create_model, field_validator

from otelcov.judge.metrics import SEVERITIES, Metric


class _Lenient(BaseModel):
    """Further keys are the model's own business."""

    model_config = ConfigDict(extra="ignore")


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def _whole(value: object) -> object:
    if value is True or value is False:
        return int(value)
    return value


def _word(value: object) -> object:
    return " ".join(value.lower().replace("_", " ").split()) if isinstance(value, str) else value


def shape(metric: Metric) -> type[BaseModel]:
    """The answer that one metric asks for."""
    reason = (str, Field(description="One or two sentences that point at the evidence"))
    if metric.kind == "qualitative":
        known = {str(_word(label)): label for label in metric.labels}

        def label(value: object) -> str:
            word = _word(value)
            if not isinstance(word, str) or word not in known:
                raise ValueError(f"must be one of: {', '.join(metric.labels)}")
            return known[word]

        one = Annotated[str, BeforeValidator(label), Field(json_schema_extra={"enum": list(metric.labels)})]
        tool: Any = (str | None, Field(default=None, description="The tool concerned, if one is"))
        return create_model("Judgement", __base__=_Lenient, reason=reason, label=(one, Field()), tool=tool)
    either = AliasChoices("score", "value")
    if metric.binary:
        binary = Annotated[int, Field(ge=0, le=1), BeforeValidator(_whole)]
        return create_model(
            "Judgement", __base__=_Lenient, reason=reason, score=(binary, Field(validation_alias=either))
        )
    scale = Annotated[float, Field(ge=metric.low, le=metric.high, allow_inf_nan=False), BeforeValidator(_number)]
    return create_model("Judgement", __base__=_Lenient, reason=reason, score=(scale, Field(validation_alias=either)))


class Group(_Lenient):
    title: str
    description: str = ""
    severity: str
    entries: list[int] = Field(description="The numbers of the entries that belong together")

    @field_validator("severity", mode="before")
    @classmethod
    def _known(cls, value: object) -> object:
        word = _word(value)
        if word not in SEVERITIES:
            raise ValueError(f"must be one of: {', '.join(SEVERITIES)}")
        return word


def groups(entries: int) -> type[BaseModel]:
    """A grouping of entries 1 to n: each in exactly one group, none invented."""

    class Grouping(_Lenient):
        groups: list[Group]

        @field_validator("groups")
        @classmethod
        def _whole(cls, value: list[Group]) -> list[Group]:
            given: list[int] = sorted(number for group in value for number in group.entries)
            wanted = list(range(1, entries + 1))
            if given != wanted:
                lost, twice = sorted(set(wanted) - set(given)), sorted({n for n in given if given.count(n) > 1})
                invented = sorted(set(given) - set(wanted))
                told: list[Any] = [f"{word}: {ns}" for word, ns in _named(lost, twice, invented) if ns]
                raise ValueError(f"every number from 1 to {entries} must be in exactly one group; {'; '.join(told)}")
            return value

    return Grouping


def _named(lost: list[int], twice: list[int], invented: list[int]) -> list[tuple[str, list[int]]]:
    return [("left out", lost), ("more than once", twice), ("unknown", invented)]
