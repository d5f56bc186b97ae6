"""The official client, unchanged, against a running server: python resources.py <url> <key> <key of a user> <file>"""

import sys

from minds.client import Client
from minds.exceptions import Forbidden, ObjectNotFound, Unauthorized, UnknownError

url, key, user_key, file = sys.argv[1:]
client = Client(key, url)


def refused(kind, message, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as error:
        assert message in str(error), error
    else:
        raise AssertionError(f"{call} was not refused")


# Datasources.
shop = client.datasources.create("shop", "sqlite", "What we sell", {"path": file})
assert (shop.name, shop.engine, shop.description) == ("shop", "sqlite", "What we sell"), shop
assert shop.connection_data == {"path": file} and shop.created_at and shop.modified_at, shop
shop = client.datasources.create("shop", "sqlite", "Replaced", {"path": file}, replace=True)
assert client.datasources.get("shop").description == "Replaced"
shop = client.datasources.update("shop", new_name="store", description="Changed")
assert (shop.name, shop.description) == ("store", "Changed"), shop
assert [one.name for one in client.datasources.list()] == ["store"]

# Minds.
mind = client.minds.create("clerk", datasources=[{"name": "store", "tables": ["item"]}], parameters={"color": "red"})
assert mind.datasources == [{"name": "store", "tables": ["main.item"]}], mind
assert mind.name == "clerk" and mind.provider == "offline" and mind.model_name, mind
assert mind.parameters == {"color": "red"} and mind.created_at and mind.modified_at, mind
assert mind.status in ("PENDING", "LOADING", "COMPLETED"), mind
assert client.minds.get("clerk").datasources == mind.datasources
assert [one.name for one in client.minds.list()] == ["clerk"]
mind = client.minds.update("clerk", new_name="porter", parameters={})
assert (mind.name, mind.parameters) == ("porter", {}), mind
mind = client.minds.create("porter", replace=True)
assert mind.datasources == [], mind

# What a Mind has, sent back as it came.
mind.add_datasource("store")
assert mind.datasources == [{"name": "store", "tables": None}], mind
mind.remove_datasource("store")
assert mind.datasources == [] and mind.status == "NOT_STARTED", mind
mind.add_datasource("store", ["item"])
assert client.minds.get("porter").datasources == [{"name": "store", "tables": ["main.item"]}]

# Asking, through the client of OpenAI that it brings along.
answer = mind.completion("How many items are there?")
assert answer, answer
pieces = list(mind.completion("How many items are there?", stream=True))
assert pieces[0] == "" and "".join(piece or "" for piece in pieces) == answer, (pieces, answer)

# Errors are its own, with our message.
refused(ObjectNotFound, "there is no Mind 'nobody'", client.minds.get, "nobody")
refused(ObjectNotFound, "there is no datasource 'nothing'", client.datasources.get, "nothing")
refused(UnknownError, "already", client.minds.create, "porter")
refused(UnknownError, "porter", client.datasources.drop, "store")
refused(Unauthorized, "API key", Client("mh_wrong", url).minds.list)
refused(Forbidden, "editor", Client(user_key, url).minds.create, "mine")

client.minds.drop("porter")
client.datasources.drop("store")
assert client.minds.list() == [] and client.datasources.list() == []
print("ok")
