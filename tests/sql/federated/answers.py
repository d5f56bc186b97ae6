"""DuckDB's answers to statements over several schemas.

    python answers.py FOLDER < QUESTION

The question is {"schemas": {"crm": "CREATE TABLE ..."}, "files": {"world": ["cities"]}, "statements": [...]}. A file is
FOLDER/SCHEMA/NAME.csv. With {"home": "shop.files"} the database is named `shop`, and tables of its schema `files` need
no prefix. Prints [{"types": [...], "rows": [[...]]}, ...].
"""

import datetime
import decimal
import json
import pathlib
import sys

import duckdb


def cell(value):
    """A value as the API has it."""
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, datetime.date, datetime.time)):
        return str(value)
    return value


def main():
    folder, question = pathlib.Path(sys.argv[1]), json.load(sys.stdin)
    database = duckdb.connect()
    # As host/docs/sql.md has it: NULL is the largest value, and a quotient of integers is one.
    database.execute("SET default_null_order = 'nulls_last_on_asc_first_on_desc'")
    database.execute("SET integer_division = true")
    home = question.get("home", "memory.main")
    catalog = home.split(".")[0]
    if catalog != "memory":
        database.execute(f"ATTACH ':memory:' AS {catalog}; USE {catalog}")
    for schema, statements in question["schemas"].items():
        database.execute(f"CREATE SCHEMA {schema}; SET schema = '{schema}'; {statements}")
    for schema, names in question["files"].items():
        database.execute(f"CREATE SCHEMA {schema}")
        for name in names:
            file = folder / schema / f"{name}.csv"
            table = f'{schema}."{name}"'
            database.execute(f"CREATE TABLE {table} AS FROM read_csv('{file}', header = true)")
    database.execute(f"USE {home}")
    answers = []
    for statement in question["statements"]:
        try:
            result = database.execute(statement)
        except duckdb.Error as error:
            sys.exit(f"{error}\n{statement}")
        types = [str(column[1]) for column in result.description]
        rows = [[cell(value) for value in row] for row in result.fetchall()]
        answers.append({"types": types, "rows": rows})
    json.dump(answers, sys.stdout)


main()
