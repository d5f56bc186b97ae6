"""Makes TPC-H: each table as CSV and as Parquet, and DuckDB's answers to the 22 queries.

    make.py SCALE FOLDER

The folder gets TABLE.csv with a line of names, TABLE.parquet, and answers.json: {"QUERY": {"sql": ..., "types": [...],
"rows": [[...]], "moved": {"two": ..., "three": ...}}}. `moved` is what best.sql counts. A folder that is finished, by
this program and best.sql as they are, is left as it is.
"""

import datetime
import decimal
import hashlib
import json
import os
import pathlib
import shutil
import sys

import duckdb
import duckdb_extension_tpch

OWN = pathlib.Path(__file__)
BEST = OWN.with_name("best.sql")


def cell(value):
    """A value as text that a test compares."""
    if isinstance(value, (decimal.Decimal, datetime.date)):
        return str(value)
    return value


def best():
    """The counts of best.sql: {(QUERY, SPLITS): SQL}, each below a line `-- QUERY SPLITS: reason`."""
    found, key = {}, None
    for line in BEST.read_text().splitlines():
        if line.startswith("-- Q"):
            number, splits = line.removeprefix("-- Q").split(":")[0].split(" ")
            key = int(number), splits
            found[key] = ""
        elif key and not line.startswith("--"):
            found[key] += line + "\n"
    return found


def moved(database, number, answer, counts):
    """Rows that the best plan moves, in splits with two and with three datasources."""
    rows = {}
    for split in ("two", "three"):
        sql = counts.get((number, split)) or counts.get((number, "both"))
        rows[split] = int(database.execute(sql).fetchone()[0]) if sql else len(answer)
    return rows


def make(scale, folder):
    database = duckdb.connect()
    wheel = pathlib.Path(duckdb_extension_tpch.__file__).parent
    (extension,) = wheel.rglob("tpch.duckdb_extension")
    database.execute(f"LOAD '{extension}'")
    database.execute(f"CALL dbgen(sf = {scale})")
    for (table,) in database.execute("SHOW TABLES").fetchall():
        database.execute(f"COPY {table} TO '{folder / table}.csv' (HEADER)")
        database.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet)")
    answers, counts = {}, best()
    for number, sql in database.execute("SELECT query_nr, query FROM tpch_queries()").fetchall():
        result = database.execute(sql)
        types = [str(column[1]) for column in result.description]
        rows = [[cell(value) for value in row] for row in result.fetchall()]
        counted = moved(database, number, rows, counts)
        answers[number] = {"sql": sql, "types": types, "rows": rows, "moved": counted}
    (folder / "answers.json").write_text(json.dumps(answers))


def main():
    scale, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    mark = "." + hashlib.sha256(OWN.read_bytes() + BEST.read_bytes()).hexdigest()[:16]
    if (folder / mark).exists():
        return
    # Beside it, so that what was killed in the middle is not taken for finished.
    new = folder.with_name(f"{folder.name}.{os.getpid()}")
    new.mkdir(parents=True)
    make(scale, new)
    (new / mark).touch()
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


main()
