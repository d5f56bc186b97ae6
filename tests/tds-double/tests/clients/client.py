"""Logs into a double by python-tds, queries, pages and cancels. Prints one line for each thing that it saw."""
import sys
import threading

import pytds

host, port, user, password, database, authority = sys.argv[1:7]
# Its check of the name needs a function that OpenSSL's binding no longer has.
options = {"cafile": authority, "validate_host": False} if authority else {}
connection = pytds.connect(
    dsn=host, port=int(port), user=user, password=password, database=database, autocommit=True, **options
)
cursor = connection.cursor()

cursor.execute("SELECT id, name, price FROM dbo.item ORDER BY id")
print("columns", ",".join(column[0] for column in cursor.description))
for row in cursor.fetchall():
    print("row", *row)

cursor.execute("SELECT id FROM dbo.item ORDER BY id OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY")
print("page", cursor.fetchall())

cursor.execute("SELECT name FROM dbo.item WHERE id = %s", (2,))
print("bound", cursor.fetchone()[0])

cursor.execute("SELECT * FROM dbo.types")
for column, value in zip(cursor.description, cursor.fetchone()):
    print("type", column[0], value)

try:
    cursor.execute("SELECT * FROM dbo.nowhere")
except pytds.Error as error:
    print("error", error)

cursor.execute("SELECT value FROM GENERATE_SERIES(1, 100000000)")
print("first", cursor.fetchone()[0])
cursor.cancel()
cursor.execute("SELECT 7 AS seven")
print("after", cursor.fetchone()[0])
connection.close()
