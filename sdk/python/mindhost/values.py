"""Dates and decimals: what filters hand over, and what sources write."""

import datetime
import decimal

_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def date_of(days: int) -> datetime.date:
    """The value of a filter on a `date`: days since 1970."""
    return _EPOCH.date() + datetime.timedelta(days=days)


def time_of(micros: int) -> datetime.time:
    """The value of a filter on a `time`: microseconds since midnight."""
    return (_EPOCH + datetime.timedelta(microseconds=micros)).time()


def timestamp_of(micros: int) -> datetime.datetime:
    """The value of a filter on a `timestamp`: microseconds since 1970, without a zone."""
    return _EPOCH + datetime.timedelta(microseconds=micros)


def timestamp_utc_of(micros: int) -> datetime.datetime:
    """The value of a filter on a `timestamp-utc`: microseconds since 1970, in UTC."""
    return timestamp_of(micros).replace(tzinfo=datetime.timezone.utc)


def days_of(date: datetime.date) -> int:
    """Days since 1970."""
    return (date - _EPOCH.date()).days


def micros_of(timestamp: datetime.datetime) -> int:
    """Microseconds since 1970. Without a zone the timestamp is in UTC."""
    if timestamp.tzinfo is not None:
        timestamp = timestamp.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return (timestamp - _EPOCH) // _MICROSECOND


def minor_of(value: decimal.Decimal | str, digits: int) -> int:
    """A decimal in the smallest unit: `minor_of("12.50", 2)` is 1250. More digits than that are a `ValueError`."""
    try:
        sign, own, exponent = decimal.Decimal(value).as_tuple()
    except decimal.InvalidOperation:
        raise ValueError(f"{value} is no decimal") from None
    if not isinstance(exponent, int) or abs(exponent) > 1_000:
        raise ValueError(f"{value} is no decimal that can be counted")
    shift = exponent + digits
    units = int("".join(map(str, own)) or "0")
    scale = int(10 ** abs(shift))
    if shift < 0 and units % scale:
        raise ValueError(f"{value} has more than {digits} digits after the point")
    units = units * scale if shift >= 0 else units // scale
    return -units if sign else units


def decimal_of(minor: int, digits: int) -> decimal.Decimal:
    """The smallest unit as a decimal: `decimal_of(1250, 2)` is `Decimal("12.50")`."""
    return decimal.Decimal((int(minor < 0), tuple(map(int, str(abs(minor)))), -digits))
