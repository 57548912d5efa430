import pytest

from otelcov.ground import errors


@pytest.mark.parametrize(
    ("codes", "code"),
    [([], 0), ([0, 0], 0), ([0, 3], 3), ([3, 1], 1), ([1, 2, 3], 2), ([0, 1, 2, 3, 4], 4)],
)
def test_the_most_urgent_exit_code_wins(codes, code):
    assert errors.worst(codes) == code


@pytest.mark.parametrize(
    ("kind", "code"),
    [(errors.UsageError, 2), (errors.ConfigError, 2), (errors.StoreError, 4)],
)
def test_each_error_has_its_exit_code(kind, code):
    assert kind("why").exit_code == code
    assert str(kind("why")) == "why"


def test_a_near_word_is_suggested_and_a_far_one_is_not():
    assert errors.did_you_mean("tols", ["tools", "entry"]) == ' Did you mean "tools"?'
    assert errors.did_you_mean("xyz", ["tools", "entry"]) == ""
