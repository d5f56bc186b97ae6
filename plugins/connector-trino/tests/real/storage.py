"""A storage like S3 on loopback, for Trino's spooled results: moto, behind a gate that checks what moto does not.

    python storage.py PORT KEY SECRET LOG

A request for an object must be signed with KEY and SECRET, in its headers or in its URL, and must have been signed for
the headers that it has. An object that came with a key of the client (SSE-C) is given out with that key alone. LOG gets
a line for each request that passed or was refused: `200 GET spool/NAME url`, with `url` or `header` for the place of
the signature. Requests for a whole bucket are not checked, so that a test can look into it.
"""

import hashlib
import hmac
import sys
import threading
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

ENCRYPTION = "x-amz-server-side-encryption-customer-key"


def headers(environ):
    """The headers of a request, by their names in small letters."""
    found = {
        name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")
    }
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            found[name.replace("_", "-").lower()] = environ[name]
    return found


def signature(secret, method, path, query, given, signed, scope, date, payload):
    """The signature (version 4) that a request must have."""
    encoded = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in query)
    canonical = [
        method,
        quote(unquote(path), safe="/-_.~"),
        "&".join(f"{name}={value}" for name, value in encoded),
        *(f"{name}:{' '.join(given.get(name, '').split())}" for name in signed),
        "",
        ";".join(signed),
        payload,
    ]
    digest = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, digest])
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Gate:
    def __init__(self, inner, key, secret, log):
        self.inner, self.key, self.secret, self.log = inner, key, secret, log
        self.lock = threading.Lock()
        # The key that each object came with.
        self.encrypted = {}

    def __call__(self, environ, start_response):
        target = urlsplit(environ["RAW_URI"])
        name = unquote(target.path).strip("/")
        if "/" not in name:
            return self.inner(environ, start_response)
        given, query = headers(environ), parse_qsl(target.query, keep_blank_values=True)
        place = self.place(environ["REQUEST_METHOD"], target.path, query, given)
        if not place or not self.may_read(environ["REQUEST_METHOD"], name, given):
            self.note(403, environ["REQUEST_METHOD"], name, place)
            start_response("403 Forbidden", [("content-length", "0")])
            return [b""]

        def noted(status, *rest):
            self.note(status.split(" ")[0], environ["REQUEST_METHOD"], name, place)
            return start_response(status, *rest)

        return self.inner(environ, noted)

    def place(self, method, path, query, given):
        """Where a request is signed; None if it is not, or not by us, or not for what it is."""
        fields = dict(query)
        if "X-Amz-Signature" in fields:
            found = fields["X-Amz-Signature"]
            credential, names = fields["X-Amz-Credential"], fields["X-Amz-SignedHeaders"]
            query = [(name, value) for name, value in query if name != "X-Amz-Signature"]
            date, payload, place = fields["X-Amz-Date"], "UNSIGNED-PAYLOAD", "url"
        elif given.get("authorization", "").startswith("AWS4-HMAC-SHA256 "):
            parts = given["authorization"].split(" ", 1)[1].split(",")
            fields = dict(part.strip().split("=", 1) for part in parts)
            found, credential, names = fields["Signature"], fields["Credential"], fields["SignedHeaders"]
            date, payload, place = given["x-amz-date"], given["x-amz-content-sha256"], "header"
        else:
            return None
        key, scope = credential.split("/", 1)
        signed = names.split(";")
        expected = signature(self.secret, method, path, query, given, signed, scope, date, payload)
        is_whole = all(name in signed for name in given if name.startswith("x-amz-") and name in SIGNED_IF_THERE)
        is_ours = key == self.key and hmac.compare_digest(found, expected)
        return place if is_ours and is_whole else None

    def may_read(self, method, name, given):
        with self.lock:
            if method == "PUT":
                self.encrypted[name] = given.get(ENCRYPTION)
            return method != "GET" or self.encrypted.get(name) == given.get(ENCRYPTION)

    def note(self, status, method, name, place):
        with self.lock:
            print(status, method, name, place or "unsigned", file=self.log, flush=True)


# What decides about an object. Trino signs all headers of its own, and its client adds none.
SIGNED_IF_THERE = {ENCRYPTION, f"{ENCRYPTION}-md5", "x-amz-server-side-encryption-customer-algorithm"}


def main():
    port, key, secret, log = sys.argv[1:]
    gate = Gate(DomainDispatcherApplication(create_backend_app), key, secret, open(log, "a"))
    run_simple("127.0.0.1", int(port), gate, threaded=True)


main()
