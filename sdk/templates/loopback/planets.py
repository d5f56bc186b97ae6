"""The SQL engine of the test server: SQLite, with a few planets in it."""

import sqlite3
import time

VERSION = sqlite3.sqlite_version
PLANETS = """
    create table planets (name text primary key, diameter_km integer not null, gravity real, discovered text);
    insert into planets values
        ('Mercury', 4879, 3.7, null), ('Venus', 12104, 8.9, null), ('Earth', 12756, 9.8, null),
        ('Mars', 6792, 3.7, null), ('Jupiter', 142984, 23.1, null), ('Saturn', 120536, 9.0, null),
        ('Uranus', 51118, 8.7, '1781-03-13'), ('Neptune', 49528, 11.0, '1846-09-23');
    create table moons (name text primary key, planet text not null references planets (name));
    insert into moons values ('Moon', 'Earth'), ('Phobos', 'Mars'), ('Deimos', 'Mars'), ('Europa', 'Jupiter');
"""
TYPES = {int: "integer", float: "real", str: "text", bytes: "blob"}


class Refused(Exception):
    """Why there is no answer, or no more of it: the words of the engine, and whether the time was too short."""

    def __init__(self, error):
        super().__init__(str(error))
        self.is_timeout = str(error) == "interrupted"


def ask(statement, timeout_ms, is_gone=lambda: False):
    """The columns of an answer, and its rows, of which each is read when it is needed.

    In a row, {"hex": "00ff"} stands for bytes. A statement ends with its time, or with the client that asked.
    """
    database = sqlite3.connect(":memory:")
    database.executescript(PLANETS)
    database.execute("pragma query_only = on")
    ends = time.monotonic() + timeout_ms / 1000
    database.set_progress_handler(lambda: time.monotonic() > ends or is_gone(), 10_000)
    try:
        cursor = database.execute(statement)
        first = cursor.fetchone() if cursor.description else None
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        raise Refused(error) from error
    if cursor.description is None:
        raise Refused("this statement gives no rows")
    values = first or [None] * len(cursor.description)
    columns = [
        {"name": name, "type": TYPES.get(type(value), "any")} for (name, *_), value in zip(cursor.description, values)
    ]
    return columns, rows(cursor, first)


def rows(cursor, row):
    try:
        while row:
            yield [{"hex": value.hex()} if isinstance(value, bytes) else value for value in row]
            row = cursor.fetchone()
    except sqlite3.OperationalError as error:
        raise Refused(error) from error
