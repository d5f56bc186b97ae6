"""A SQL engine over HTTP to try the plugin with: SQLite, with a few planets in it. Needs nothing but Python.

    POST /query    the statement as text; answers with lines of JSON: the columns, then one array a row, in which
                   {"hex": "00ff"} stands for bytes
    GET /version   who answers

`python3 server.py` serves at http://127.0.0.1:8123. With a command as arguments it takes a free port, runs the command
with `{url}` replaced in its arguments, and ends with it.
"""

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = os.environ.get("API_KEY", "open sesame")
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


class Engine(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Rows are written in pieces, not one by one.
    wbufsize = 64 * 1024

    def do_GET(self):
        if self.allowed():
            self.answer(200, {"product": "Planets", "version": sqlite3.sqlite_version})

    def do_POST(self):
        statement = self.body().decode()
        if not self.allowed():
            return
        database = sqlite3.connect(":memory:")
        database.executescript(PLANETS)
        database.execute("pragma query_only = on")
        ends = time.monotonic() + float(self.headers.get("x-timeout-ms", 60_000)) / 1000
        database.set_progress_handler(lambda: time.monotonic() > ends, 10_000)
        try:
            cursor = database.execute(statement)
            if cursor.description is None:
                return self.answer(400, {"error": "this statement gives no rows"})
            first = cursor.fetchone()
        except sqlite3.OperationalError as error:
            status = 408 if str(error) == "interrupted" else 400
            return self.answer(status, {"error": str(error)})
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            return self.answer(400, {"error": str(error)})
        self.stream(cursor, first)

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        # Read to its end, or what is left would be taken for the next request.
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return whole

    def stream(self, cursor, first):
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        values = first or [None] * len(cursor.description)
        columns = [
            {"name": name, "type": TYPES.get(type(value), "any")}
            for (name, *_), value in zip(cursor.description, values)
        ]
        try:
            self.chunk({"columns": columns})
            row = first
            while row:
                self.chunk([{"hex": value.hex()} if isinstance(value, bytes) else value for value in row])
                row = cursor.fetchone()
            self.wfile.write(b"0\r\n\r\n")
        except sqlite3.OperationalError:
            # The client learns from the missing end that the answer is not whole.
            self.close_connection = True

    def chunk(self, value):
        line = json.dumps(value).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def allowed(self):
        if self.headers.get("authorization") == f"Bearer {KEY}":
            return True
        self.answer(401, {"error": "the key is wrong"})
        return False

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that went away is no news."""


def main():
    command = sys.argv[1:]
    server = Server(("127.0.0.1", 0 if command else 8123), Engine)
    url = f"http://127.0.0.1:{server.server_port}"
    if not command:
        print(f"serving planets at {url}; the key is {KEY!r}")
        return server.serve_forever()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return subprocess.run([argument.replace("{url}", url) for argument in command], check=False).returncode


sys.exit(main())
