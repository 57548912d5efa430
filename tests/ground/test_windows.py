import pytest
from hypothesis import given
from hypothesis import strategies as st

from otelcov.ground import windows
from otelcov.ground.errors import UsageError
from otelcov.ground.windows import ALL, Window, duration, iso, moment, parse, span_text

HOUR = 3600 * 10**9
NOW = moment("2026-03-01T12:00:00Z", 0)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("24h", 24 * HOUR),
        ("7d", 7 * 24 * HOUR),
        ("1h30m", HOUR * 3 // 2),
        ("1.5h", HOUR * 3 // 2),
        ("2w", 14 * 24 * HOUR),
        ("250ms", 250_000_000),
        ("60s", 60 * 10**9),
    ],
)
def test_a_duration_is_read_in_its_units(text, ns):
    assert duration(text) == ns


@pytest.mark.parametrize("text", ["", "5", "h", "1y", "-1h", "1h 30m", "٣h x"])
def test_what_is_no_duration_is_refused_with_an_example(text):
    with pytest.raises(UsageError, match="1h30m"):
        duration(text)


@given(st.integers(0, 2**62))
def test_a_written_duration_reads_back_the_same(ns):
    assert duration(span_text(ns)) == ns


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T12:00:00Z",
        "2026-03-01T12:00:00",
        "2026-03-01 12:00",
        "2026-03-01T13:00:00+01:00",
        "20260301T120000Z",
    ],
)
def test_a_time_without_offset_is_utc(text):
    assert moment(text, 0) == NOW


def test_nanoseconds_of_an_iso_time_are_kept():
    assert moment("2026-03-01T12:00:00.123456789Z", 0) == NOW + 123_456_789
    assert moment("2026-03-01T13:00:00.5+01:00", 0) == NOW + 500_000_000


@given(st.integers(0, 2**63 - 1))
def test_a_printed_time_reads_back_the_same(ns):
    assert moment(iso(ns), 0) == ns


def test_the_default_window_is_the_last_24_hours():
    assert parse(None, None, NOW) == Window(NOW - 24 * HOUR, NOW)


def test_until_alone_ends_a_window_of_24_hours():
    assert parse(None, "24h", NOW) == Window(NOW - 48 * HOUR, NOW - 24 * HOUR)


def test_all_opens_both_ends_and_until_closes_one():
    assert parse("all", None, NOW) == ALL
    assert parse("ALL", "1h", NOW) == Window(None, NOW - HOUR)
    assert parse("1h", "all", NOW) == Window(NOW - HOUR, None)


def test_a_window_longer_than_history_begins_at_the_epoch():
    assert parse("99999w", None, NOW) == Window(0, NOW)


@pytest.mark.parametrize(("since", "until"), [("1h", "2h"), ("1h", "1h"), ("2027-01-01", None)])
def test_an_empty_window_is_a_usage_error(since, until):
    with pytest.raises(UsageError, match="The window is empty"):
        parse(since, until, NOW)


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "24", "1h;DROP"])
def test_an_unreadable_time_is_a_usage_error(text):
    with pytest.raises(UsageError, match="Couldn't read"):
        parse(text, None, NOW)


def test_a_window_is_half_open_and_an_unknown_start_lies_only_in_all():
    window = Window(10, 20)
    assert [t in window for t in (9, 10, 19, 20, None)] == [False, True, True, False, False]
    assert None in ALL


def test_the_clock_can_be_fixed():
    assert windows.clock("2026-03-01T12:00:00Z") == NOW
