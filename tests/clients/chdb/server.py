"""Today's ClickHouse (chDB, in this process) behind the parts of ClickHouse's HTTP interface that the connector uses.

The bytes of results and exceptions are the engine's own. What this file does in the server's place: users and
passwords, settings in the URL, the headers, joining the pieces of a streamed result to one stream, an exception behind rows, and
the two columns of `system.processes` by which statements are ended (a mark in the text of each statement).

    python server.py USER PASSWORD SETUP.sql

prints `listening PORT` once the statements of the file, one a line of `;;`, have run. It ends with its standard input,
or when it is asked to (SIGTERM).
"""

import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
NOT_SETTINGS = {"query", "default_format", "query_id", "database"}
# What a statement that is not well-formed says in the real server's statuses; all others are 500.
STATUS = {62: 400, 47: 404, 60: 404, 81: 404, 516: 403, 164: 500, 159: 408, 115: 400}

setup_file = os.path.abspath(sys.argv[3])
folder = tempfile.mkdtemp(prefix="mindhost-chdb-")
os.chdir(folder)
# Where the engine makes a folder of its own, which it never removes.
os.environ["TMPDIR"] = folder


def end(*_):
    shutil.rmtree(folder, ignore_errors=True)
    # The engine's own threads do not end while a statement runs.
    os._exit(0)


signal.signal(signal.SIGTERM, end)
import chdb  # noqa: E402  (it looks for a configuration in the current directory)


class Failure(Exception):
    def __init__(self, text):
        found = re.search(r"Code: (\d+)", text)
        self.code = int(found[1]) if found else 1001
        self.text = text[found.start():] if found else f"Code: 1001. DB::Exception: {text}"


def pieces(connection, sql, form):
    """The pieces of a result, each without what only the whole has."""
    first = True
    try:
        # Each piece of a streamed result in JSON would be a document of its own.
        if form.startswith("JSON") or not re.match(r"[\s(]*(SELECT|WITH)\b", sql, re.IGNORECASE):
            yield connection.query(sql, form).bytes()
            return
        for piece in connection.send_query(sql, form):
            data = piece.bytes()
            if form == "ArrowStream":
                data = data.removesuffix(END_OF_STREAM)
                if not first:
                    data = data[8 + int.from_bytes(data[4:8], "little"):]
            elif form == "TabSeparatedWithNamesAndTypes" and not first:
                data = data.split(b"\n", 2)[2]
            first = False
            yield data
        if first:
            # Without rows nothing is streamed, not even the columns.
            yield connection.query(sql, form).bytes().removesuffix(END_OF_STREAM)
        if form == "ArrowStream":
            yield END_OF_STREAM
    except (RuntimeError, chdb.ChdbError) as error:
        raise Failure(str(error)) from None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer is written in several parts, and a part must not wait until the client confirms the one before.
    disable_nagle_algorithm = True

    def do_POST(self):
        self.given = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        self.sql = self.given.get("query", "") + body
        self.tag = secrets.token_hex(8)
        key = (self.headers.get("x-clickhouse-user"), self.headers.get("x-clickhouse-key", ""))
        if key != (USER, PASSWORD):
            text = f"Code: 516. DB::Exception: {key[0]}: Authentication failed. (AUTHENTICATION_FAILED)"
            return self.refuse(Failure(text))
        connection = chdb.connect()
        try:
            self.answer(connection)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            connection.close()

    do_GET = do_POST

    def answer(self, connection):
        try:
            self.run(connection)
        except Failure as failure:
            self.refuse(failure)

    def run(self, connection):
        self.configure(connection)
        if re.match(r"\s*KILL QUERY", self.sql):
            sql = re.sub(
                r"(query_id|http_user_agent) = '([^']*)'",
                lambda found: f"position(query, concat('{found[1]}=', '{found[2]};')) > 0",
                self.sql,
            )
        else:
            agent = re.sub(r"[^\w-]", "_", self.headers.get("user-agent", ""))
            sql = f"{self.sql}\n/* query_id={self.given.get('query_id', '')}; http_user_agent={agent}; */"
        result = pieces(connection, sql, self.given.get("default_format", "TabSeparated"))
        first = next(result)
        self.head(200)
        self.chunk(first)
        try:
            for piece in result:
                self.chunk(piece)
        except Failure as failure:
            # As the real server: behind the rows, and without the end of the transfer.
            text = failure.text.encode()
            tag = self.tag.encode()
            mark = b"\r\n__exception__\r\n"
            self.chunk(mark + tag + b"\r\n" + text + b"\r\n%d " % len(text) + tag + mark)
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    def configure(self, connection):
        settings = [(name, value) for name, value in self.given.items() if name not in NOT_SETTINGS]
        changes = ", ".join(f"{name} = '{value}'" for name, value in settings if re.fullmatch(r"\w+", name))
        try:
            if "database" in self.given:
                connection.query("USE `%s`" % self.given["database"].replace("`", "``"))
            if changes:
                connection.query(f"SET {changes}")
        except (RuntimeError, chdb.ChdbError) as error:
            raise Failure(str(error)) from None

    def head(self, status, **headers):
        self.send_response(status)
        self.send_header("content-type", "text/plain; charset=UTF-8")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("x-clickhouse-server-display-name", "chdb")
        self.send_header("x-clickhouse-exception-tag", self.tag)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def refuse(self, failure):
        self.head(STATUS.get(failure.code, 500), x_clickhouse_exception_code=str(failure.code))
        self.chunk(failure.text.encode() + b"\n")
        self.wfile.write(b"0\r\n\r\n")

    def chunk(self, data):
        if data:
            self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")

    def log_message(self, *_):
        pass


def main():
    global USER, PASSWORD
    USER, PASSWORD = sys.argv[1:3]
    connection = chdb.connect()
    with open(setup_file, encoding="utf-8") as file:
        for statement in file.read().split("\n;;"):
            if statement.strip():
                connection.query(statement)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("listening", server.server_port, flush=True)
    sys.stdin.read()
    end()


main()
